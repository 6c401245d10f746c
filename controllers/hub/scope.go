package hub

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/validate"
)

// scope is one round over one FederatedQuota. newScope fills all but the members' reports, which observe adds; decide
// changes the ledger, drops members that have no part in it, and sets leftOut, uncounted and awaited.
type scope struct {
	fq  *quotav1alpha1.FederatedQuota
	now time.Time
	// members are the selected clusters and those that have an entry, by name.
	members []*member
	// byName holds the members again.
	byName map[string]*member
	// names are those of all Clusters, by UID.
	names map[string]string
	// ledger is over the budget of the spec, or over the last good one while that cannot be acted on.
	ledger *ledger.Ledger
	// problems are what makes the spec one that cannot be acted on.
	problems field.ErrorList
	// conflict says which older FederatedQuota stands in the way, or is empty.
	conflict string
	// strangers say where the spec names Clusters that do not exist.
	strangers []string
	// unread says whether no entry that was stored was ever read: the ledger is new, was lost, or was rebuilt.
	unread bool
	// rebuilt says whether it is rebuilt in this round: whom that concerns is known in the next one.
	rebuilt bool
	// lost says whether there may have been a ledger before this one, which was read by nobody; observe fills it.
	lost bool
	// unseen are the Clusters that are about to say what they hold, which a restored ledger may not know: nothing is decided on such
	// a ledger. observe fills it.
	unseen []string
	// marker is the highest revision that a marker on any Cluster notes.
	marker int64
	// before are the entries as they were stored, by cluster.
	before map[string]quotav1alpha1.ClusterStatus
	// known are the entries as the ledger had them before the round.
	known map[string]ledger.Entry
	// leftOut are the clusters that the ledger has no room for, uncounted says whether one of them may hold a share; decide sets
	// them.
	leftOut   []string
	uncounted bool
	// crowded says whether the ledger has no room for the resource names of the spec beside those that left the budget.
	crowded bool
	// awaited is how long raises wait for members to say what they use, by resource name; decide sets it.
	awaited map[corev1.ResourceName]time.Duration
	// fleet is what shares say of the whole budget; report fills it.
	fleet quotav1alpha1.Fleet
	// snapshotDue is when usage is to be stored, if only usage has changed; store sets it.
	snapshotDue time.Duration
}

func newScope(fq *quotav1alpha1.FederatedQuota, clusters []clusterv1.Cluster, siblings []quotav1alpha1.FederatedQuota, holders sets.Set[string], agents string, now time.Time) *scope {
	s := &scope{fq: fq, now: now, problems: validate.Spec(&fq.Spec), unread: true}
	s.before = make(map[string]quotav1alpha1.ClusterStatus, len(fq.Status.Clusters))
	s.known = make(map[string]ledger.Entry, len(fq.Status.Clusters))
	for _, c := range fq.Status.Clusters {
		s.before[string(c.Name)] = c
		s.unread = s.unread && c.Revision == 0
	}
	selected, missing := placed(fq, clusters)
	if s.removing() {
		selected = nil
	}
	s.strangers = strangers(&fq.Spec, clusters, missing)
	s.conflict = conflictOf(fq, selected, clusters, siblings)
	s.problems = append(s.problems, misplaced(fq, agents)...)
	s.problems = append(s.problems, s.destroyed(selected)...)
	if len(s.problems) == 0 {
		s.problems = s.guarantees(selected)
	}
	if len(s.problems) == 0 {
		s.problems = s.tooManyNames()
		s.crowded = len(s.problems) > 0
	}
	s.ledger = ledger.FromStatus(fq.Status, s.budget())
	for _, name := range s.ledger.Clusters() {
		e, _ := s.ledger.Entry(name)
		s.known[name] = ledger.Entry{Revision: e.Revision, Target: e.Target.Clone()}
	}
	s.names = make(map[string]string, len(clusters))
	for i := range clusters {
		s.marker = max(s.marker, markerOf(&clusters[i]))
		s.names[string(clusters[i].UID)] = clusters[i].Name
	}
	s.byName = s.newMembers(selected, clusters, holders)
	s.members = slices.SortedFunc(maps.Values(s.byName), func(a, b *member) int { return strings.Compare(a.name, b.name) })
	return s
}

// budget returns what may be distributed. While the spec cannot be acted on that is what it was before.
func (s *scope) budget() amount.List {
	if len(s.problems) > 0 || s.conflict != "" {
		return amount.Saturate(s.fq.Status.Hard, amount.Down)
	}
	return s.wanted()
}

// wanted returns the budget that the spec asks for.
func (s *scope) wanted() amount.List {
	return amount.Sub(amount.Saturate(s.fq.Spec.Hard, amount.Down), amount.Saturate(s.fq.Spec.Reserve, amount.Up))
}

// newMembers returns who is selected, is in the ledger, or may hold a share all the same: after a restore of the hub a ledger does
// not know whom another one has told since, but looks at the members' stores do.
func (s *scope) newMembers(selected map[string]*clusterv1.Cluster, clusters []clusterv1.Cluster, holders sets.Set[string]) map[string]*member {
	byName := make(map[string]*member)
	for name, cluster := range selected {
		byName[name] = &member{name: name, cluster: cluster, selected: true}
	}
	for _, name := range s.ledger.Clusters() {
		if byName[name] == nil {
			byName[name] = &member{name: name}
		}
	}
	for i := range clusters {
		if name := clusters[i].Name; byName[name] == nil && (holders.Has(name) || s.mayHold(&clusters[i], len(selected) > 0)) {
			byName[name] = &member{name: name}
		}
		if m := byName[clusters[i].Name]; m != nil {
			m.cluster = &clusters[i]
		}
	}
	for _, m := range byName {
		s.identify(m)
	}
	return byName
}

// identify fills in which Cluster the entry of a member was granted to, and why there is one.
func (s *scope) identify(m *member) {
	before := s.before[m.name]
	m.suspected = before.Revision == 0 && before.Reason == quotav1alpha1.ReasonMayHoldShare
	m.uid = before.UID
	m.replaced = m.cluster != nil && s.replaced(m.cluster)
	if m.cluster != nil && !m.replaced {
		m.uid = string(m.cluster.UID)
	}
}

// mayBeLost says whether the status is as that of a ledger which was lost or rebuilt. Any other that holds no entry that was read has a
// revision all the same, and knows whom it has told: nobody, or those who have left.
func (s *scope) mayBeLost() bool {
	if s.fq.Status.Revision == 0 {
		return true
	}
	for _, name := range s.ledger.Clusters() {
		if e, _ := s.ledger.Entry(name); e.Revision == 0 && s.ledger.Holds(name) {
			return true
		}
	}
	return false
}

// mayHold says whether a cluster that is not selected is to be read, since it may hold a share that a ledger knew which was
// lost. While nobody is to be given anything there is no need.
func (s *scope) mayHold(cluster *clusterv1.Cluster, selectsAny bool) bool {
	return s.unread && markerOf(cluster) > 0 && (s.removing() || selectsAny && !s.halted())
}

// replaced says whether the entry of this name was granted to another Cluster. One that was never written to was granted to
// none.
func (s *scope) replaced(cluster *clusterv1.Cluster) bool {
	before := s.before[cluster.Name]
	told := before.Revision > 0
	for _, granted := range before.Granted {
		told = told || granted.Sign() > 0
	}
	return told && before.UID != "" && before.UID != string(cluster.UID)
}

// halted says whether the spec cannot be acted on: the ledger goes on following reports, and nothing is decided.
func (s *scope) halted() bool {
	return s.fq.DeletionTimestamp.IsZero() && (len(s.problems) > 0 || s.conflict != "")
}

// removing says whether the FederatedQuota is being deleted.
func (s *scope) removing() bool { return !s.fq.DeletionTimestamp.IsZero() }

// removed says whether every member has confirmed what removal asks for.
func (s *scope) removed() bool {
	return s.removing() && len(s.unseen) == 0 && len(s.ledger.Clusters()) == 0
}

// needsLive says whether the share of a cluster is to be read from its API server: what an entry is founded on, or ended
// by, does not come from a cache.
func (s *scope) needsLive(cluster string) bool {
	e, ok := s.ledger.Entry(cluster)
	return !ok || e.Revision == 0 || !s.byName[cluster].selected
}
