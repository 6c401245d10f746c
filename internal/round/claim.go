package round

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// allocation returns how the children in the ledger take part in the split, in the order of r.children; as if the
// bounds that are lifted did not bind any of them.
func (r *round) allocation(lifted ...Bound) allocate.Input {
	input := allocate.Input{
		Quota: r.in.ID, Budgets: inOrder(r.budget, r.names), Grains: inOrder(r.in.Split.Grains, r.names),
		Children: make([]allocate.Child, len(r.children)),
	}
	for i, c := range r.children {
		input.Children[i] = r.claimant(c, lifted...)
	}
	return input
}

// allocate splits the budget.
func (r *round) allocate(input allocate.Input) allocate.Result {
	if r.in.Split.Static {
		return allocate.Static(input)
	}
	result := allocate.Auto(input, r.in.Split.Options)
	allocate.MakeRoom(input, result)
	return result
}

// claimant returns how a child takes part. In a static split every child that stays has its part, whether its limit can
// move or not. Where limits follow demand, a child that cannot be changed now keeps what it was granted.
func (r *round) claimant(c *Standing, lifted ...Bound) allocate.Child {
	e, _ := r.ledger.Entry(c.Name)
	claimant := allocate.Child{ID: c.Name, Claims: make([]allocate.Claim, len(r.names))}
	if !c.Leaving {
		claimant.ID, claimant.Weight, claimant.Weights = c.UID, c.Terms.Weight, c.Terms.weights(r.names)
	}
	claimant.Damped = c.DampedFor > 0 && !slices.Contains(lifted, BoundDamping)
	for _, shape := range c.Shapes {
		claimant.Shapes = append(
			claimant.Shapes, allocate.Shape{Amounts: inOrder(shape.Amounts, r.names), Unit: inOrder(shape.Unit, r.names)},
		)
	}
	claimant.Pinned = !r.in.Split.Static && c.Pinned
	for i, name := range r.names {
		claim := r.claim(c, e, name)
		if !slices.Contains(lifted, BoundReplacing) {
			claim.Respite = max(claim.Respite, c.keepsFor(&claim, name))
		}
		if !c.Leaving && slices.Contains(lifted, BoundMax) {
			claim.Max = math.MaxInt64
		}
		if !r.in.Split.Static {
			r.restrict(&claim, c, name, lifted)
		}
		if supposed, known := c.Supposed[name]; known {
			claim.Granted, claim.Target = supposed, supposed
		}
		claimant.Claims[i] = claim
	}
	return claimant
}

// claim returns what a child has and asks for, and its terms.
func (r *round) claim(c *Standing, e ledger.Entry, name corev1.ResourceName) allocate.Claim {
	var terms Terms
	if !c.Leaving {
		terms = c.Terms
	}
	claim := allocate.Claim{
		Min: terms.Min[name], Lendable: terms.Lendable[name], Max: terms.most(name, c.Leaving),
		Headroom: terms.Headroom[name], Used: c.Used[name], Demand: c.Demand[name], Expected: c.Expected[name],
		Granted: e.Granted[name], Target: e.Target[name],
	}
	if r.in.Split.respiteFor(c, name) > 0 {
		claim.Respite = pace.Respite(r.budget[name], c.Used[name], e.Target[name])
	}
	return claim
}

// keepsFor returns what a child keeps of its target for objects that it replaces, 0 if it replaces none. What it had
// above that goes to others as ever.
func (s *Standing) keepsFor(claim *allocate.Claim, name corev1.ResourceName) int64 {
	if s.Replacing[name] == 0 {
		return 0
	}
	return min(claim.Target, amount.Add(claim.Used, s.Replacing[name]))
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
func (r *round) restrict(claim *allocate.Claim, c *Standing, name corev1.ResourceName, lifted []Bound) {
	if place := c.placeFor(claim, name, lifted); place < claim.Max {
		claim.Max, claim.ByPlace = place, true
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
	claim.Min, claim.Max, claim.ByPlace = min(claim.Min, claim.Target), min(claim.Max, claim.Target), false
	claim.Used, claim.Respite = min(claim.Used, claim.Target), claim.Target
	if claim.Granted == ledger.Unknown {
		claim.Granted = claim.Target
	}
}

// placeFor is what a child gets at most. One that has no place for more keeps what it has. One of which only that is
// known that it is full gets what it asks for, and no headroom: pods that find no node would fill any, step by step,
// and no other child could use it then.
func (s *Standing) placeFor(claim *allocate.Claim, name corev1.ResourceName, lifted []Bound) int64 {
	room, known := s.Room[name]
	switch {
	case known && !slices.Contains(lifted, BoundRoom):
		return max(claim.Target, amount.Add(claim.Used, room))
	case !known && s.Full && !slices.Contains(lifted, BoundNodes):
		return max(claim.Target, amount.Add(claim.Used, claim.Demand))
	}
	return math.MaxInt64
}

// weights returns the weights of the names in their order, nil if one weight counts for all.
func (t Terms) weights(names []corev1.ResourceName) []int64 {
	if t.Weights == nil {
		return nil
	}
	return inOrder(t.Weights, names)
}

// most returns the bound of a child that stays; one that leaves gets nothing.
func (t Terms) most(name corev1.ResourceName, leaving bool) int64 {
	most, bounded := t.Max[name]
	switch {
	case leaving:
		return 0
	case !bounded:
		return math.MaxInt64
	}
	return most
}
