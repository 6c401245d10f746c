package allocate

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// auto is the work of one Auto.
type auto struct {
	in      *Input
	options Options
	plans   []plan // one per resource
	filler  apportion.Filler
	bounds  []apportion.Stake // the weights and ranks of the members; lo and hi are set for each fill
	surplus []int64           // what each holds above its fair share, as far as it is kept
	donors  []int             // working memory
	parts   []int64           // the result of a fill of the moves
	kinds   [][]kind          // of each member, nil if none has any
	rooms   []int64           // working memory, one per resource
}

// plan is the distribution of one resource. Its slices are parallel to Input.Members; pinned members have no part in
// it, and their entries are zero.
type plan struct {
	*auto
	resource int
	grain    int64   // the step in which its targets come
	budget   int64   // what is left when pinned members are taken off
	unused   int64   // the part of it that is not in use
	claims   []Claim // as they count
	asks     []int64 // demand, as far as the other resources of the same pods have room for it
	need     []int64 // what the layers of need give
	floor    []int64 // what the layers before demand give
	assured  []int64 // what is given on top for the headroom that the claims ask for
	headroom []int64 // what is given for headroom on top, assured or in percent
	fair     []int64 // need, headroom, and the rest by weight
	reserve  int64   // what the hub should keep
	targets  []int64
}

// newAuto prepares a plan per resource.
func newAuto(in *Input, options Options) *auto {
	options.ReservePercent = min(options.ReservePercent, 100)
	members, ranks := len(in.Members), in.ranks()
	a := &auto{
		in:      in,
		options: options,
		plans:   make([]plan, len(in.Budgets)),
		bounds:  make([]apportion.Stake, members),
		surplus: make([]int64, members),
		donors:  make([]int, 0, members),
		parts:   make([]int64, members),
		kinds:   in.kinds(),
		rooms:   make([]int64, len(in.Budgets)),
	}
	for i := range in.Members {
		a.bounds[i] = apportion.Stake{Weight: in.Members[i].Weight, Rank: ranks[i]}
	}
	for r := range a.plans {
		a.plans[r] = a.newPlan(r, make([]int64, 7*members))
	}
	return a
}

// newPlan prepares the plan of one resource; memory is for seven numbers per member.
func (a *auto) newPlan(resource int, memory []int64) plan {
	members := len(a.in.Members)
	slice := func(n int) []int64 { return memory[n*members : (n+1)*members] }
	p := plan{
		auto:     a,
		resource: resource,
		grain:    a.in.grain(resource),
		budget:   a.in.open(resource),
		claims:   make([]Claim, members),
		asks:     slice(0),
		need:     slice(1),
		floor:    slice(2),
		assured:  slice(3),
		headroom: slice(4),
		fair:     slice(5),
		targets:  slice(6),
	}
	var used apportion.Total
	for i := range a.in.Members {
		if m := &a.in.Members[i]; !m.Pinned {
			p.claims[i] = m.Claims[resource].normalized()
			p.asks[i] = p.claims[i].Demand
			used.Add(p.claims[i].Used)
		}
	}
	p.unused = used.MinusFrom(p.budget)
	expectFair(&a.filler, p.budget, p.claims, a.bounds, a.parts)
	return p
}

// lacks says whether the member i gets less than it asks for.
func (p *plan) lacks(i int) bool {
	return p.need[i] < amount.Add(p.claims[i].Used, p.asks[i])
}

// serves is how much of its demand the member i gets. It is bounded by its max alone if the member gets all that it
// asks for, even if it asks for less than its demand: then another resource is tighter than this one.
func (p *plan) serves(i int) int64 {
	if p.lacks(i) {
		return p.need[i] - p.claims[i].Used
	}
	return p.claims[i].room()
}
