package hub

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// static says whether the budget is split by weights, min and max alone.
func (s *scope) static() bool { return s.fq.Spec.Rebalance.Mode == quotav1alpha1.RebalanceStatic }

// admissionOf returns what the agents of a member do for requests that do not fit: none is held where no demand moves the limit.
func (s *scope) admissionOf(m *member) quotav1alpha1.Admission {
	if s.static() || !m.selected {
		return quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionOff, Poke: s.fq.Spec.Admission.Poke}
	}
	return s.fq.Spec.Admission
}

// holds says whether requests that do not fit may wait for a raise.
func (s *scope) holds() bool {
	return !s.static() && s.fq.Spec.Admission.Mode != quotav1alpha1.AdmissionOff
}

// plan returns what the limits of all clusters in the ledger shall become. A leaving cluster gives all back, but for the
// deletion of the FederatedQuota itself, which leaves limits as they are.
func (s *scope) plan() []ledger.Target {
	if s.removing() {
		return nil
	}
	names := s.ledger.Budget().Names()
	input, members := s.input(names)
	result := s.allocate(input)
	s.ration(names, input, members, result)
	targets := make([]ledger.Target, 0, len(members))
	for i, m := range members {
		target := ledger.Target{Cluster: m.name, Amounts: amount.List{}}
		for j, name := range names {
			switch {
			case !m.selected:
				target.Amounts[name] = 0
			case s.static() || !input.Members[i].Pinned && m.counts(name):
				target.Amounts[name] = result.Verdicts[i][j].Target
				m.explain(name, &input.Members[i].Claims[j], &result.Verdicts[i][j])
			}
		}
		targets = append(targets, target)
	}
	return targets
}

// explain notes why a limit moves.
func (m *member) explain(name corev1.ResourceName, claim *allocate.Claim, verdict *allocate.Verdict) {
	if verdict.Target == claim.Target {
		return
	}
	if m.reasons == nil {
		m.reasons = map[corev1.ResourceName]allocate.Reason{}
	}
	m.reasons[name] = verdict.Reason
}

// allocate splits the budget as the mode says.
func (s *scope) allocate(input allocate.Input) allocate.Result {
	if s.static() {
		return allocate.Static(input)
	}
	options := pace.Options(s.holds())
	if percent := s.fq.Spec.Rebalance.HeadroomPercent; percent != nil {
		options.HeadroomPercent = int64(*percent)
	}
	result := allocate.Auto(input, options)
	allocate.MakeRoom(input, result)
	return result
}

// input returns how the clusters of the ledger take part in the split, in the order of the returned members.
func (s *scope) input(names []corev1.ResourceName) (allocate.Input, []*member) {
	budget := s.ledger.Budget()
	input := allocate.Input{Quota: string(s.fq.UID), Budgets: make([]int64, len(names))}
	for i, name := range names {
		input.Budgets[i] = budget[name]
	}
	var members []*member
	for _, m := range s.members {
		if e, ok := s.ledger.Entry(m.name); ok {
			members = append(members, m)
			input.Members = append(input.Members, s.claimant(m, e, names))
		}
	}
	return input, members
}

// claimant returns how a member takes part. In a static split every selected cluster has its part, present or not. Where
// limits follow demand, a cluster that cannot be changed now keeps what it was granted.
func (s *scope) claimant(m *member, e ledger.Entry, names []corev1.ResourceName) allocate.Member {
	claimant := allocate.Member{ID: m.name, Claims: make([]allocate.Claim, len(names))}
	var t distributionTerms
	if m.selected {
		t = terms(&s.fq.Spec.Distribution, m.cluster)
		claimant.ID, claimant.Weight = string(m.cluster.UID), t.weight
	}
	claimant.Damped = m.dampedFor > 0
	for _, kind := range m.kinds {
		claimant.Kinds = append(claimant.Kinds, allocate.Kind{Amounts: inOrder(kind.amounts, names), Unit: inOrder(kind.unit, names)})
	}
	claimant.Pinned = !s.static() && !s.responsive(m)
	for i, name := range names {
		c := &claimant.Claims[i]
		*c = allocate.Claim{
			Min: t.min[name], Lendable: t.lendable[name], Max: t.most(name, m.selected),
			Used: m.report.Used[name], Demand: m.demand[name], Granted: e.Granted[name], Target: e.Target[name],
		}
		if m.respiteFor(name) > 0 {
			c.Respite = pace.Respite(s.ledger.Budget()[name], m.report.Used[name], e.Target[name])
		}
		if !s.static() {
			s.restrict(c, m, name)
		}
	}
	return claimant
}

// respiteFor returns how much longer a member keeps its respite.
func (m *member) respiteFor(name corev1.ResourceName) time.Duration {
	ago, gave := m.gave[name]
	if !gave {
		return 0
	}
	return max(0, pace.Respites().Of(m.demand[name])-ago)
}

// inOrder returns the amounts of a list in the order of the names.
func inOrder(list amount.List, names []corev1.ResourceName) []int64 {
	row := make([]int64, len(names))
	for i, name := range names {
		row[i] = list[name]
	}
	return row
}

// restrict takes off a claim what the member could make no use of, or could not be given. A name that it does not count stays
// as it is, as if all that was granted were used.
func (s *scope) restrict(c *allocate.Claim, m *member, name corev1.ResourceName) {
	if m.reports(quotav1alpha1.ConditionNodesFull) {
		c.Max = min(c.Max, withoutHeadroom(c))
	}
	if s.ledger.Granted(name) == ledger.Unknown {
		asTold(c)
	}
	if !m.counts(name) {
		c.Min, c.Max, c.Used, c.Demand = c.Granted, c.Granted, c.Granted, 0
	}
}

// asTold makes a claim one for what the member was told. While a cluster may hold anything nobody can be raised, so that nobody
// needs to be lowered either, but by a cut of the budget or of its max. What that cluster holds is not known, and not taken off.
func asTold(c *allocate.Claim) {
	c.Min, c.Max, c.Used, c.Respite = min(c.Min, c.Target), min(c.Max, c.Target), min(c.Used, c.Target), c.Target
	if c.Granted == ledger.Unknown {
		c.Granted = c.Target
	}
}

// withoutHeadroom is what a member gets at most whose nodes are full: what it has or asks for. Pods that find no node would
// fill any headroom, step by step, and nobody else could use it then.
func withoutHeadroom(c *allocate.Claim) int64 { return max(c.Target, amount.Add(c.Used, c.Demand)) }

// most returns the bound of a cluster that is still selected; another one gets nothing.
func (t distributionTerms) most(name corev1.ResourceName, selected bool) int64 {
	most, bounded := t.max[name]
	switch {
	case !selected:
		return 0
	case !bounded:
		return math.MaxInt64
	}
	return most
}

// responsive says whether a member can be lowered and raised now.
func (s *scope) responsive(m *member) bool {
	return m.follows() && m.heldBack == (obstacle{}) && m.stalledFor == 0 && !s.absent(m)
}

// absent says whether the agent has not acted on the present share for so long that others are asked in its place.
func (s *scope) absent(m *member) bool {
	return m.idle() && (m.idleFor >= donorPatience || s.wasAbsent(m))
}

// ration cuts raises down to what is free.
func (s *scope) ration(names []corev1.ResourceName, input allocate.Input, members []*member, result allocate.Result) {
	free := make([]int64, len(names))
	for i, name := range names {
		free[i] = s.ledger.Free(name)
	}
	allocate.Ration(input, result, free, func(member, resource int) bool {
		return s.mayRaise(members[member].name, names[resource])
	})
}
