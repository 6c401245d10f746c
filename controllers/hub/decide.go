package hub

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// mostEntries is how many clusters the schema of the status has room for. The placement selects half of that by name, so that
// all of those may leave while as many others join.
const mostEntries = 2000

// decide takes the decisions of the round into the ledger. It does no I/O: all it knows was observed.
func (s *scope) decide() {
	s.rebuild()
	for _, m := range s.members {
		s.join(m)
		s.learn(m)
	}
	if s.begins() {
		s.ledger.Begin()
	}
	s.members = slices.DeleteFunc(s.members, func(m *member) bool {
		_, known := s.ledger.Entry(m.name)
		return !known && !m.selected
	})
	if s.halted() {
		return
	}
	for _, m := range s.members {
		if s.gone(m) {
			s.ledger.Gone(m.name)
		}
	}
	s.await()
	if len(s.unseen) == 0 {
		s.ledger.Steer(s.plan(), s.mayRaise)
	}
}

// rebuild forgets what the ledger has read if a member was told something by another ledger than this one, which was restored from
// the past then. A ledger that was read by nobody, or is rebuilt, counts on above the markers, which tell of ledgers that were lost.
func (s *scope) rebuild() {
	var highest int64
	for _, m := range s.members {
		if told := m.told(); told != nil && (s.ledger.RolledBack(m.name, *told) || s.isAhead(m, *told)) {
			highest = max(highest, told.Revision, told.InForce)
		}
	}
	if highest > 0 {
		s.ledger.Rebuild(highest)
		s.rebuilt = true
	}
	if highest > 0 || s.unread && s.begins() {
		s.ledger.Continue(s.marker)
	}
}

// isAhead says whether a share is newer than the entry as it was stored: names that came into the budget since have given it a revision
// of this round.
func (s *scope) isAhead(m *member, told ledger.Share) bool {
	stored := s.before[m.name].Revision
	return stored > 0 && max(told.Revision, told.InForce) > stored
}

// early says whether it is too early for a ledger that was read by nobody to take anyone in: as soon as one entry is read, clusters
// that are not selected, or cannot be, would no longer be asked what they hold.
func (s *scope) early() bool {
	return s.unread && !s.removing() && (s.halted() || !s.selectsAny())
}

// begins says whether the ledger has revisions from now on. One that was lost has none until it can be acted upon, which tells that it was.
func (s *scope) begins() bool { return !s.lost || !s.early() }

// join adds an entry for a member that is selected, or that holds a share of which the ledger does not know, or enforces one. One that cannot
// be read may hold one if there was a ledger before; one that is deleted gives nothing away any more, and waits for nobody.
func (s *scope) join(m *member) {
	switch {
	case s.early(), s.givenUp(m):
	case m.selected:
		s.take(m)
	case !m.empty():
		s.enter(m, true)
	case s.lost && !m.read() && !s.removing():
		s.suspect(m)
	}
}

// take adds an entry for a member that is selected. While there are entries that were read, the ledger knows whom it has told: a
// marker is of another budget then. One that was just rebuilt knows of nobody, and may be of before the marker.
func (s *scope) take(m *member) {
	switch {
	case s.halted():
	case s.unread && markerOf(m.cluster) > 0, s.rebuilt:
		s.suspect(m)
	default:
		s.enter(m, false)
	}
}

// suspect adds an entry for a member of which nothing is known but the marker, until it is asked whether it holds a share.
func (s *scope) suspect(m *member) {
	if _, known := s.ledger.Entry(m.name); !known {
		m.suspected = true
		s.enter(m, true)
	}
}

// enter adds an entry if the ledger has room for one. A cluster that is left out gets nothing; nobody is raised while one is
// that may hold a share.
func (s *scope) enter(m *member, mayHoldShare bool) {
	if _, ok := s.ledger.Entry(m.name); !ok && s.ledger.Len() >= mostEntries {
		s.leftOut = append(s.leftOut, m.name)
		s.uncounted = s.uncounted || mayHoldShare || !m.empty()
		return
	}
	s.ledger.Join(m.name, mayHoldShare)
}

// learn takes what a member says into the ledger.
func (s *scope) learn(m *member) {
	if !m.read() {
		return
	}
	if e, ok := s.ledger.Entry(m.name); ok && e.Revision == 0 {
		if s.adoptable(m) {
			s.ledger.Adopt(m.name, m.told())
		}
		return
	}
	if m.lacksNamespace() {
		s.ledger.Vacate(m.name)
		return
	}
	s.ledger.Settle(m.name, m.report)
	if s.ledger.Disagrees(m.name, m.report) && !m.reports(quotav1alpha1.ConditionBreakGlass) && m.askedFor == 0 {
		s.ledger.Confirm(m.name)
		m.askedAnew = true
	}
}

// adoptable says whether a member that was read may be taken in now.
func (s *scope) adoptable(m *member) bool {
	return m.live && !s.rebuilt && !s.early() && !m.cleared()
}

// cleared says whether a member was read that was suspected to hold a share, has none, and shall have none.
func (m *member) cleared() bool {
	return m.suspected && !m.selected && m.live && m.read() && m.empty()
}

// empty says whether a member has no share, and enforces none that is gone.
func (m *member) empty() bool { return m.share == nil && m.bereft == nil }

// told returns what a member's share says, or what is in force without one, or nil. A revision that no ledger gave says nothing.
func (m *member) told() *ledger.Share {
	switch {
	case m.share == nil:
		return m.bereft
	case m.forged:
		return &ledger.Share{}
	}
	return &ledger.Share{
		Revision: m.share.Spec.Revision,
		Hard:     amount.Saturate(m.share.Spec.Hard, amount.Up),
		InForce:  m.share.Status.Revision,
	}
}

// givenUp says whether the spec declares that a member is destroyed.
func (s *scope) givenUp(m *member) bool {
	return slices.Contains(s.fq.Spec.Removal.Destroyed, quotav1alpha1.ClusterName(m.name))
}

// gone says whether the entry of a member may go.
func (s *scope) gone(m *member) bool {
	if s.givenUp(m) {
		return true
	}
	if m.selected {
		return false
	}
	if s.untold(m) || m.twin != "" && !s.ledger.Holds(m.name) {
		return true
	}
	if !m.read() || !m.live {
		return false
	}
	return s.left(m) || m.lacksNamespace() || m.cleared()
}

// left says whether a member has let its share go, as it was told. Its entry goes once the spec can be acted on.
func (s *scope) left(m *member) bool {
	return !m.selected && m.empty() && s.before[m.name].Removal != ""
}

// untold says whether a member cannot hold a share: it was never read, and so never written to, neither in the time of this
// ledger nor before, since it counts with nothing.
func (s *scope) untold(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	return ok && e.Revision == 0 && !s.ledger.Holds(m.name)
}

// leaves says whether the share of a member is to be deleted now.
func (s *scope) leaves(m *member) bool {
	if _, ok := s.ledger.Entry(m.name); !ok || m.selected || m.share == nil || s.halted() {
		return false
	}
	return s.removing() || s.ledger.Drained(m.name, m.report)
}

// mayRaise says whether a member may be raised now. Nobody is while another is about to say what it uses of that already,
// which would be debt if the budget were handed out before.
func (s *scope) mayRaise(cluster string, name corev1.ResourceName) bool {
	return !s.uncounted && s.awaited[name] == 0 && s.canUseMore(cluster, name)
}

// await fills in how long raises wait at most for what members use of each resource.
func (s *scope) await() {
	s.awaited = map[corev1.ResourceName]time.Duration{}
	for _, m := range s.members {
		for name, wait := range m.awaitedFor {
			s.awaited[name] = max(s.awaited[name], wait)
		}
	}
}

// unheard returns the resources of which a member can be expected to say for the first time what it uses: all of them if it
// joins, and those that came into the budget.
func (s *scope) unheard(m *member) []corev1.ResourceName {
	if s.halted() || !m.selected || m.misfit != "" || m.heldBack != (obstacle{}) || s.wasAbsent(m) {
		return nil
	}
	return slices.DeleteFunc(s.ledger.Budget().Names(), func(name corev1.ResourceName) bool {
		_, known := m.report.Used[name]
		return known && m.report.Revision > 0
	})
}

// canUseMore says whether a member can make use of more.
func (s *scope) canUseMore(cluster string, name corev1.ResourceName) bool {
	m := s.byName[cluster]
	return m.counts(name) && m.follows()
}

// counts says whether it is known what the member uses of name.
func (m *member) counts(name corev1.ResourceName) bool {
	_, known := m.report.Used[name]
	return known
}

// follows says whether a member can do as it is told: it is there, its agent can write, and nobody meddles with it.
func (m *member) follows() bool {
	return m.read() && m.selected && m.report.Revision > 0 && m.share.DeletionTimestamp.IsZero() && m.writable() &&
		!m.reports(quotav1alpha1.ConditionStuckQuotaController) && !m.reports(quotav1alpha1.ConditionBreakGlass) &&
		!m.reports(quotav1alpha1.ConditionUnguarded)
}

// distributionTerms are a cluster's weight and bounds, as the rules of the distribution give it.
type distributionTerms struct {
	weight             int64
	min, lendable, max amount.List
}

// terms returns the terms of a cluster: each comes from the last rule that matches the cluster and sets it.
func terms(d *quotav1alpha1.Distribution, cluster *clusterv1.Cluster) distributionTerms {
	t := distributionTerms{weight: 1}
	for i := range d.Rules {
		rule := &d.Rules[i]
		if !matches(rule, cluster) {
			continue
		}
		if rule.Weight != nil && d.Weights != quotav1alpha1.WeightsEqual {
			t.weight = int64(*rule.Weight)
		}
		if rule.Min != nil {
			t.min = amount.Saturate(rule.Min, amount.Up)
		}
		if rule.Lendable != nil {
			t.lendable = amount.Saturate(rule.Lendable, amount.Down)
		}
		if rule.Max != nil {
			t.max = amount.Saturate(rule.Max, amount.Down)
		}
	}
	return t
}

func matches(rule *quotav1alpha1.DistributionRule, cluster *clusterv1.Cluster) bool {
	if len(rule.Clusters) == 0 && rule.ClusterSelector == nil {
		return true
	}
	return slices.Contains(rule.Clusters, quotav1alpha1.ClusterName(cluster.Name)) || matcher(rule.ClusterSelector)(cluster)
}
