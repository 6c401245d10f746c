package allocate

// Options are what Auto allows for beyond the needs of now.
type Options struct {
	// HeadroomPercent is the room that a member should have above what it uses and asks for, in percent of that.
	HeadroomPercent int64
	// ReservePercent is the part of the slack that the hub keeps, from 0 to 100: 25 where admission may wait for a
	// raise, which can then come from the hub without a donor, and 0 where it may not. Slack is the budget that nobody
	// needs now.
	ReservePercent int64
}

// Auto distributes every budget by demand and moves as little as possible.
//
// Pinned members keep what they were granted. For the others, the fair distribution is laid in layers, each on top of
// the one before, until the budget is spent: what is in use (even if the budget does not hold it), the part of min that
// is not lent, demand up to min, the respite, the next request of who is below its fair part, demand up to max: that is
// the need. The rest is for the headroom that claims ask for, and then, without what the hub keeps, for headroom in
// percent and for all by weight.
//
// Then every target stays as it is, except that a member below its need is raised to it; a member that is nearer to its
// need than to its fair share, or lacks the headroom that its claim asks for, is raised to its fair share, unless it is
// damped; what a budget cut takes is taken; and the hub refills its reserve when it is below half. All of it comes out of
// what is free first, and then from those above their fair share, beginning with who has the most above it, so that few
// are moved.
//
// What of a member's demand is of one kind is for objects of one shape: when one resource cannot give all of its part,
// the others need to give no more of theirs. Where a budget does not hold all demand, whole requests are served.
func Auto(in Input, options Options) Result {
	a := newAuto(&in, options)
	a.couple()
	a.serveWhole()
	result := newResult(&in)
	for r := range a.plans {
		p := &a.plans[r]
		p.layGrains()
		p.layRest()
		p.move()
		for i := range in.Members {
			result.Verdicts[i][r] = p.verdict(i)
		}
	}
	return result
}

// auto is the work of one Auto.
type auto struct {
	in      *Input
	options Options
	plans   []plan // one per resource
	filler  filler
	bounds  []Bound  // the weights and ranks of the members; lo and hi are set for each fill
	surplus []int64  // what each holds above its fair share, as far as it is kept
	donors  []int    // working memory
	parts   []int64  // the result of a fill of the moves
	kinds   [][]kind // of each member, nil if none has any
	rooms   []int64  // working memory, one per resource
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
		bounds:  make([]Bound, members),
		surplus: make([]int64, members),
		donors:  make([]int, 0, members),
		parts:   make([]int64, members),
		kinds:   in.kinds(),
		rooms:   make([]int64, len(in.Budgets)),
	}
	for i := range in.Members {
		a.bounds[i] = Bound{Weight: in.Members[i].Weight, Rank: ranks[i]}
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
	var used total
	for i := range a.in.Members {
		if m := &a.in.Members[i]; !m.Pinned {
			p.claims[i] = m.Claims[resource].normalized()
			p.asks[i] = p.claims[i].Demand
			used.add(p.claims[i].Used)
		}
	}
	p.unused = used.minusFrom(p.budget)
	a.filler.expectFair(p.budget, p.claims, a.bounds, a.parts)
	return p
}
