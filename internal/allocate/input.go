package allocate

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/fedquota/fedquota/internal/apportion"
)

// Options are what Auto allows for beyond the needs of now.
type Options struct {
	// HeadroomPercent is the room that a child should have above what it uses and asks for, in percent of that.
	HeadroomPercent int64
	// ReservePercent is the part of the slack that the hub keeps, from 0 to 100: 25 where admission may wait for a
	// raise, which can then come from the hub without a donor, and 0 where it may not. Slack is the budget that nobody
	// needs now.
	ReservePercent int64
}

// Input is all that an allocation depends on.
type Input struct {
	// Quota identifies the quota, by its UID. Together with Child.ID it decides ties, so that no child is the
	// favourite of all quotas.
	Quota string
	// Budgets holds what may be distributed, one entry per resource, each in the unit of its resource.
	Budgets []int64
	// Grains holds the steps in which targets come, one entry per resource; below 2, or without an entry, any amount is
	// one.
	Grains []int64
	// Children share the budgets, in any order.
	Children []Child
}

// Child is one that takes part.
type Child struct {
	// ID identifies the child, by its UID. No two children have the same.
	ID string
	// Weight is the child's part relative to the others. Zero stands last in line, as in Bound.
	Weight int64
	// Weights, if there are any, take the place of Weight, one entry per resource.
	Weights []int64
	// Pinned children cannot be changed now (unreachable, draining): what they were granted stays theirs and is taken
	// off the budget before anybody else is looked at.
	Pinned bool
	// Damped children were moved for headroom a moment ago: Auto neither raises nor lowers them for headroom now. What
	// somebody needs is not damped.
	Damped bool
	// Claims holds the child's state, one entry per resource, parallel to Input.Budgets.
	Claims []Claim
	// Shapes splits the demand by what is asked for together, in the order in which they are served: small requests before
	// large ones. Without any, all demand is asked for together, and any part of it is of use.
	Shapes []Shape
}

// Shape is demand that comes in whole requests, which are alike. Its slices are parallel to Input.Budgets.
type Shape struct {
	// Amounts are what all of the requests ask for.
	Amounts []int64
	// Unit is what one request asks for, the smallest if they differ. It counts as zero where it is not known: then only
	// the last request asks for that resource.
	Unit []int64
}

// Unlimited is a Max that bounds nothing.
const Unlimited = math.MaxInt64

// Claim is one child's state for one resource, in the unit of that resource.
type Claim struct {
	// Min is what the child is guaranteed, Max what it may get at most. A Max below Min counts as Min.
	Min, Max int64
	// ByPlace says that Max is what the child has a place for, and not what it may get.
	ByPlace bool
	// Lendable is the part of Min that others may use while the child does not. It comes back as they release it.
	Lendable int64
	// Headroom is the room that the child should have above what it needs, as far as nobody needs that.
	Headroom int64
	// Used is what is in use.
	Used int64
	// Respite is what the child keeps of its target before others are given what they ask for, since it gave room away a
	// moment ago.
	Respite int64
	// Demand is what the child could use right now beyond Used.
	Demand int64
	// Expected is what the child's next request is expected to ask for. It is served before demand as long as with it the
	// child uses no more than its fair part.
	Expected int64
	// Granted is the most that the child may be enforcing or using. It counts while the child is pinned.
	Granted int64
	// Target is what the child was last told to enforce, at most Granted. Auto starts from it and not from Granted:
	// otherwise a lowering that is still under way would look as if it had to be asked for again, of others too.
	Target int64
}

// weight is the child's weight for a resource.
func (m *Child) weight(resource int) int64 {
	if m.Weights == nil {
		return m.Weight
	}
	return m.Weights[resource]
}

// normalized is the claim as it counts: no amount below zero, and Max not below Min.
func (c Claim) normalized() Claim {
	for _, amount := range []*int64{
		&c.Min, &c.Lendable, &c.Headroom, &c.Used, &c.Respite, &c.Demand, &c.Expected, &c.Granted, &c.Target,
	} {
		*amount = max(*amount, 0)
	}
	c.Max = max(c.Max, c.Min)
	return c
}

// atMost is the reason of a target that Max bounds.
func (c *Claim) atMost() Reason {
	if c.ByPlace {
		return Placed
	}
	return Capped
}

// room is how much more than now the child may use.
func (c *Claim) room() int64 {
	return max(c.Max-c.Used, 0)
}

// held is what a child that cannot be changed may be holding.
func (c *Claim) held() int64 {
	return max(c.Granted, c.Used, 0)
}

// Verdict is the outcome for one child and one resource.
type Verdict struct {
	// Target is what the child's limit should be, in the unit of the resource.
	Target int64
	// Fair is what the child would get if everything were distributed anew. Under Static it is the target. Under Auto
	// the target may lie above it while nobody needs the difference, and below it by up to half of the headroom, or more
	// while the child is damped.
	Fair int64
	// Reason says why.
	Reason Reason
}

// Result holds the verdicts, [child][resource], in the order of the input.
type Result struct {
	Verdicts [][]Verdict
	// Needed says of each resource whether somebody is raised to the need, or the budget was cut: what goes down then does
	// not do so for the headroom of others alone.
	Needed []bool
}

// newResult makes room for one verdict per child and resource.
func newResult(in *Input) Result {
	all := make([]Verdict, len(in.Children)*len(in.Budgets))
	rows := make([][]Verdict, len(in.Children))
	for i := range rows {
		rows[i], all = all[:len(in.Budgets):len(in.Budgets)], all[len(in.Budgets):]
	}
	return Result{Verdicts: rows, Needed: make([]bool, len(in.Budgets))}
}

// ranks returns the rank of every child: its place in the order of hash(quota, child). It depends on nothing that
// changes from round to round, because a rank by current grant would hand the same unit back and forth.
func (in *Input) ranks() []uint64 {
	hashes := make([]uint64, len(in.Children))
	order := make([]int, len(in.Children))
	for i := range in.Children {
		order[i] = i
		hash := fnv.New64a()
		hash.Write([]byte(in.Quota))
		hash.Write([]byte{0})
		hash.Write([]byte(in.Children[i].ID))
		hashes[i] = hash.Sum64()
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(in.Children[a].ID, in.Children[b].ID))
	})
	ranks := make([]uint64, len(order))
	for place, i := range order {
		ranks[i] = uint64(place)
	}
	return ranks
}

// open is what is left of the budget of a resource when what the pinned children hold is taken off, and never below
// zero.
func (in *Input) open(resource int) int64 {
	var pinned apportion.Total
	for i := range in.Children {
		if m := &in.Children[i]; m.Pinned {
			pinned.Add(m.Claims[resource].held())
		}
	}
	return pinned.MinusFrom(max(in.Budgets[resource], 0))
}

// grain is that of a resource, 1 for any amount.
func (in *Input) grain(resource int) int64 {
	if resource < len(in.Grains) {
		return max(in.Grains[resource], 1)
	}
	return 1
}
