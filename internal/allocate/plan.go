package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// auto is the work of one Auto.
type auto struct {
	in      *Input
	options Options
	plans   []plan // one per resource
	filler  apportion.Filler
	line    []apportion.Stake // the weights and ranks of the children: who comes first
	surplus []int64           // what each holds above its fair share, as far as it is kept
	donors  []int             // working memory
	parts   []int64           // the result of a fill of the moves
	shapes  [][]shape         // of each child, nil if none has any
	rooms   []int64           // working memory, one per resource
}

// plan is the distribution of one resource. Its slices are parallel to Input.Children; pinned children have no part in
// it, and their entries are zero.
type plan struct {
	*auto
	resource int
	bounds   []apportion.Stake // the weights and ranks of the children; lo and hi are set for each fill
	grain    int64             // the step in which its targets come
	budget   int64             // what is left when pinned children are taken off
	unused   int64             // the part of it that is not in use
	claims   []Claim           // as they count
	awaited  []int64           // what requests ask for that are expected, and that the budget does not hold
	coupled  []int64           // the same where the budget of another resource does not
	asks     []int64           // demand, as far as the other resources of the same pods have room for it
	need     []int64           // what the layers of need give
	floor    []int64           // what the layers before demand give
	assured  []int64           // what is given on top for the headroom that the claims ask for
	headroom []int64           // what is given for headroom on top, assured or in percent
	fair     []int64           // need, headroom, and the rest by weight
	reserve  int64             // what the hub should keep
	targets  []int64
	needed   bool // somebody is raised to the need, or the budget was cut
}

// newAuto prepares a plan per resource.
func newAuto(in *Input, options Options) *auto {
	options.ReservePercent = min(options.ReservePercent, 100)
	children, ranks := len(in.Children), in.ranks()
	a := &auto{
		in:      in,
		options: options,
		plans:   make([]plan, len(in.Budgets)),
		line:    make([]apportion.Stake, children),
		surplus: make([]int64, children),
		donors:  make([]int, 0, children),
		parts:   make([]int64, children),
		shapes:  in.shapes(),
		rooms:   make([]int64, len(in.Budgets)),
	}
	for i := range in.Children {
		a.line[i] = apportion.Stake{Weight: in.Children[i].Weight, Rank: ranks[i]}
	}
	for r := range a.plans {
		a.plans[r] = a.newPlan(r, make([]int64, 9*children))
	}
	a.expectWhole()
	return a
}

// newPlan prepares the plan of one resource; memory is for nine numbers per child.
func (a *auto) newPlan(resource int, memory []int64) plan {
	children := len(a.in.Children)
	slice := func(n int) []int64 { return memory[n*children : (n+1)*children] }
	p := plan{
		auto:     a,
		resource: resource,
		bounds:   slices.Clone(a.line),
		grain:    a.in.grain(resource),
		budget:   a.in.open(resource),
		claims:   make([]Claim, children),
		asks:     slice(0),
		need:     slice(1),
		floor:    slice(2),
		assured:  slice(3),
		headroom: slice(4),
		fair:     slice(5),
		targets:  slice(6),
		awaited:  slice(7),
		coupled:  slice(8),
	}
	var used apportion.Total
	for i := range a.in.Children {
		p.bounds[i].Weight = a.in.Children[i].weight(resource)
		if m := &a.in.Children[i]; !m.Pinned {
			p.claims[i] = m.Claims[resource].normalized()
			p.asks[i] = p.claims[i].Demand
			used.Add(p.claims[i].Used)
		}
	}
	p.unused = used.MinusFrom(p.budget)
	expectFair(&a.filler, p.budget, p.claims, p.bounds, a.parts)
	return p
}

// lacks says whether the child i gets less than it asks for.
func (p *plan) lacks(i int) bool {
	return p.need[i] < amount.Add(p.claims[i].Used, p.asks[i])
}

// serves is how much of its demand the child i gets. It is bounded by its max alone if the child gets all that it
// asks for, even if it asks for less than its demand: then another resource is tighter than this one.
func (p *plan) serves(i int) int64 {
	if p.lacks(i) {
		return p.need[i] - p.claims[i].Used
	}
	return p.claims[i].room()
}
