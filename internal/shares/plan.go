package shares

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// plan returns what the limits of all children in the ledger shall become. A child that leaves gives all back, but for
// the deletion of the budget itself, which leaves limits as they are.
func (r *Round) plan() []ledger.Target {
	if r.in.Removing {
		return nil
	}
	names := r.ledger.Budget().Names()
	input, children := r.allocation(names)
	result := r.allocate(input)
	r.due(names, children, result)
	r.ration(names, input, children, result)
	targets := make([]ledger.Target, 0, len(children))
	for i, c := range children {
		target := ledger.Target{Cluster: c.Name, Amounts: amount.List{}}
		for j, name := range names {
			switch {
			case !c.Selected:
				target.Amounts[name] = 0
			case r.in.Split.Static || !input.Members[i].Pinned && c.counts(name):
				target.Amounts[name] = result.Verdicts[i][j].Target
				c.explain(name, &input.Members[i].Claims[j], &result.Verdicts[i][j])
			}
		}
		targets = append(targets, target)
	}
	return targets
}

// explain notes why a limit moves.
func (c *child) explain(name corev1.ResourceName, claim *allocate.Claim, verdict *allocate.Verdict) {
	if verdict.Target == claim.Target {
		return
	}
	if c.reasons == nil {
		c.reasons = map[corev1.ResourceName]allocate.Reason{}
	}
	c.reasons[name] = verdict.Reason
}

// allocate splits the budget.
func (r *Round) allocate(input allocate.Input) allocate.Result {
	if r.in.Split.Static {
		return allocate.Static(input)
	}
	result := allocate.Auto(input, r.in.Split.Options)
	allocate.MakeRoom(input, result)
	return result
}

// allocation returns how the children in the ledger take part in the split, in the order of the returned children; as if
// the bounds that are lifted did not bind any of them.
func (r *Round) allocation(names []corev1.ResourceName, lifted ...Bound) (allocate.Input, []*child) {
	budget := r.ledger.Budget()
	input := allocate.Input{Quota: r.in.ID, Budgets: inOrder(budget, names), Grains: inOrder(r.in.Split.Grains, names)}
	var children []*child
	for _, c := range r.children {
		if e, ok := r.entry(c); ok {
			children = append(children, c)
			input.Members = append(input.Members, r.claimant(c, e, names, lifted...))
		}
	}
	return input, children
}

// claimant returns how a child takes part. In a static split every selected child has its part, present or not. Where
// limits follow demand, a child that cannot be changed now keeps what it was granted.
func (r *Round) claimant(c *child, e ledger.Entry, names []corev1.ResourceName, lifted ...Bound) allocate.Member {
	claimant := allocate.Member{ID: c.Name, Claims: make([]allocate.Claim, len(names))}
	if c.Selected {
		claimant.ID, claimant.Weight = c.UID, c.Terms.Weight
	}
	claimant.Damped = c.Past.DampedFor > 0 && !slices.Contains(lifted, BoundDamping)
	for _, shape := range c.shapes {
		claimant.Kinds = append(claimant.Kinds, allocate.Kind{Amounts: inOrder(shape.Amounts, names), Unit: inOrder(shape.Unit, names)})
	}
	claimant.Pinned = !r.in.Split.Static && !c.responsive()
	for i, name := range names {
		claim := r.claim(c, e, name)
		if !slices.Contains(lifted, BoundReplacing) {
			claim.Respite = max(claim.Respite, c.keepsFor(&claim, name))
		}
		if c.Selected && slices.Contains(lifted, BoundMax) {
			claim.Max = math.MaxInt64
		}
		if !r.in.Split.Static {
			r.restrict(&claim, c, name, lifted)
		}
		claimant.Claims[i] = claim
	}
	return claimant
}

// claim returns what a child has and asks for, and its terms.
func (r *Round) claim(c *child, e ledger.Entry, name corev1.ResourceName) allocate.Claim {
	var terms Terms
	if c.Selected {
		terms = c.Terms
	}
	claim := allocate.Claim{
		Min: terms.Min[name], Lendable: terms.Lendable[name], Max: terms.most(name, c.Selected),
		Headroom: terms.Headroom[name], Used: c.report.Used[name], Demand: c.demand[name], Expected: c.expected[name],
		Granted: e.Granted[name], Target: e.Target[name],
	}
	if r.respiteFor(c, name) > 0 {
		claim.Respite = pace.Respite(r.in.Budget[name], c.report.Used[name], e.Target[name])
	}
	return claim
}

// keepsFor returns what a child keeps of its target for objects that it replaces, 0 if it replaces none. What it had
// above that goes to others as ever.
func (c *child) keepsFor(claim *allocate.Claim, name corev1.ResourceName) int64 {
	if c.replacing[name] == 0 {
		return 0
	}
	return min(claim.Target, amount.Add(claim.Used, c.replacing[name]))
}

// respiteFor returns how much longer a child keeps its respite.
func (r *Round) respiteFor(c *child, name corev1.ResourceName) time.Duration {
	ago, gave := c.Past.Gave[name]
	if !gave {
		return 0
	}
	return max(0, r.in.Split.Respites.Of(c.demand[name])-ago)
}

// inOrder returns the amounts of a list in the order of the names.
func inOrder(list amount.List, names []corev1.ResourceName) []int64 {
	row := make([]int64, len(names))
	for i, name := range names {
		row[i] = list[name]
	}
	return row
}

// restrict takes off a claim what the child could make no use of, or could not be given. A name that it does not count
// stays as it is, as if all that was granted were used.
func (r *Round) restrict(claim *allocate.Claim, c *child, name corev1.ResourceName, lifted []Bound) {
	if c.reports(quotav1alpha1.ConditionNodesFull) && !slices.Contains(lifted, BoundNodes) {
		claim.Max = min(claim.Max, withoutHeadroom(claim))
	}
	switch {
	case r.ledger.Granted(name) != ledger.Unknown:
	case !slices.Contains(lifted, BoundUnread):
		asTold(claim)
	case claim.Granted == ledger.Unknown:
		claim.Granted = claim.Target
	}
	if !c.counts(name) {
		claim.Min, claim.Max, claim.Used, claim.Demand, claim.Expected = claim.Granted, claim.Granted, claim.Granted, 0, 0
	}
}

// asTold makes a claim one for what the child was told. While another child may hold anything no child can be raised,
// so that none needs to be lowered either, but by a cut of the budget or of its max. What that other child holds is not
// known, and not taken off.
func asTold(claim *allocate.Claim) {
	claim.Min, claim.Max = min(claim.Min, claim.Target), min(claim.Max, claim.Target)
	claim.Used, claim.Respite = min(claim.Used, claim.Target), claim.Target
	if claim.Granted == ledger.Unknown {
		claim.Granted = claim.Target
	}
}

// withoutHeadroom is what a child gets at most whose nodes are full: what it has or asks for. Pods that find no node
// would fill any headroom, step by step, and no other child could use it then.
func withoutHeadroom(claim *allocate.Claim) int64 {
	return max(claim.Target, amount.Add(claim.Used, claim.Demand))
}

// most returns the bound of a child that is still selected; another one gets nothing.
func (t Terms) most(name corev1.ResourceName, selected bool) int64 {
	most, bounded := t.Max[name]
	switch {
	case !selected:
		return 0
	case !bounded:
		return math.MaxInt64
	}
	return most
}

// ration cuts raises down to what is free.
func (r *Round) ration(names []corev1.ResourceName, input allocate.Input, children []*child, result allocate.Result) {
	free := make([]int64, len(names))
	for i, name := range names {
		free[i] = r.ledger.Free(name)
	}
	allocate.Ration(input, result, free, func(member, resource int) bool {
		return r.mayRaise(children[member].Name, names[resource])
	})
}
