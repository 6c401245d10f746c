package hub

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// decide takes the decisions of the round into the ledger. It is pure: all it knows was observed.
func (s *scope) decide() {
	s.rebuild()
	for _, m := range s.members {
		s.learn(m)
	}
	if s.halted() {
		return
	}
	for _, m := range s.members {
		if s.gone(m) {
			s.ledger.Gone(m.name)
		}
	}
	s.ledger.Steer(s.targets(), s.mayRaise)
}

// rebuild makes the ledger unread if a member has seen a higher revision than the ledger knows.
func (s *scope) rebuild() {
	var highest int64
	for _, m := range s.members {
		if m.share == nil {
			continue
		}
		if seen := max(m.share.Spec.Revision, m.report.Revision); s.ledger.RolledBack(m.name, seen) {
			highest = max(highest, seen)
		}
	}
	if highest > 0 {
		s.ledger.Rebuild(highest)
	}
}

// learn takes what a member says into the ledger.
func (s *scope) learn(m *member) {
	if m.selected && !s.halted() {
		s.ledger.Join(m.name, m.cluster.Annotations[quotav1alpha1.MemberAnnotation] == "true")
	}
	if !m.read() {
		return
	}
	if e, ok := s.ledger.Entry(m.name); ok && e.Revision == 0 {
		if m.live {
			s.ledger.Adopt(m.name, told(m.share))
		}
		return
	}
	s.ledger.Settle(m.name, m.report)
	if s.fellShort(m) {
		s.ledger.Confirm(m.name)
	}
}

// told returns what a member's share says, or nil if it has none.
func told(share *quotav1alpha1.QuotaShare) *ledger.Share {
	if share == nil {
		return nil
	}
	return &ledger.Share{
		Revision: max(share.Spec.Revision, share.Status.Revision),
		Hard:     amount.Saturate(share.Spec.Hard, amount.Up),
	}
}

// fellShort says whether a member enforces less than the target of the revision that it confirms, as it may after
// somebody broke the glass: within one revision the agent cannot go up again, so the target needs a new one.
func (s *scope) fellShort(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	if !ok || m.report.Revision != e.Revision || m.reports(quotav1alpha1.ConditionBreakGlass) {
		return false
	}
	return slices.ContainsFunc(e.Target.Names(), func(name corev1.ResourceName) bool {
		hard, known := m.report.Hard[name]
		return known && hard < e.Target[name]
	})
}

// gone says whether the entry of a member may go.
func (s *scope) gone(m *member) bool {
	if m.selected {
		return false
	}
	if slices.Contains(s.fq.Spec.Removal.Destroyed, quotav1alpha1.ClusterName(m.name)) || s.untold(m) {
		return true
	}
	if !m.read() || !m.live || m.share != nil {
		return false
	}
	return s.removing() || !s.ledger.Holds(m.name) || m.heldBack == namespaceMissing
}

// untold says whether a member cannot hold a share: it was never read, and so never written to, neither in the time of this
// ledger nor, by the marker on its Cluster, before.
func (s *scope) untold(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	return ok && e.Revision == 0 && !s.ledger.Holds(m.name) && (m.cluster == nil || m.cluster.Annotations[quotav1alpha1.MemberAnnotation] != "true")
}

// leaves says whether the share of a member is to be deleted now.
func (s *scope) leaves(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	if !ok || m.selected || m.share == nil {
		return false
	}
	return s.removing() || (!s.ledger.Holds(m.name) && m.report.Revision == e.Revision)
}

// mayRaise says whether a member can make use of more: it is there, its usage is known, and nobody meddles with it.
func (s *scope) mayRaise(cluster string, name corev1.ResourceName) bool {
	m := s.byName[cluster]
	_, known := m.report.Used[name]
	return m.read() && m.selected && known && m.report.Revision > 0 && m.share.DeletionTimestamp.IsZero() &&
		!m.reports(quotav1alpha1.ConditionStuckQuotaController) && !m.reports(quotav1alpha1.ConditionBreakGlass)
}

// targets returns what the limits of all clusters in the ledger shall become. A leaving cluster gives all back, but for
// the deletion of the FederatedQuota itself, which leaves limits as they are.
func (s *scope) targets() []ledger.Target {
	if s.removing() {
		return nil
	}
	budget := s.ledger.Budget()
	names := budget.Names()
	input := allocate.Input{Quota: string(s.fq.UID), Budgets: make([]int64, len(names))}
	for i, name := range names {
		input.Budgets[i] = budget[name]
	}
	var targets []ledger.Target
	for _, m := range s.members {
		if _, ok := s.ledger.Entry(m.name); !ok {
			continue
		}
		targets = append(targets, ledger.Target{Cluster: m.name, Amounts: amount.List{}})
		input.Members = append(input.Members, s.claimant(m, names))
	}
	for i, verdicts := range allocate.Static(input).Verdicts {
		for j, name := range names {
			targets[i].Amounts[name] = verdicts[j].Target
		}
	}
	return targets
}

// claimant returns how a member takes part in the split.
func (s *scope) claimant(m *member, names []corev1.ResourceName) allocate.Member {
	claimant := allocate.Member{ID: m.name, Claims: make([]allocate.Claim, len(names))}
	if !m.selected {
		return claimant
	}
	t := terms(&s.fq.Spec.Distribution, m.cluster)
	claimant.ID, claimant.Weight = string(m.cluster.UID), t.weight
	for i, name := range names {
		most, bounded := t.max[name]
		if !bounded {
			most = math.MaxInt64
		}
		claimant.Claims[i] = allocate.Claim{Min: t.min[name], Max: most}
	}
	return claimant
}

// distributionTerms are a cluster's weight and bounds, as the rules of the distribution give it.
type distributionTerms struct {
	weight   int64
	min, max amount.List
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
