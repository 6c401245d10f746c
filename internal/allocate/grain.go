package allocate

import (
	"cmp"
	"slices"
)

// A grain is the step in which the targets of a resource come. Nobody goes without what it needs for that: where the
// budget or a max holds no whole grain, a target is what is needed, to the unit.

// grain is that of a resource, 1 for any amount.
func (in *Input) grain(resource int) int64 {
	if resource < len(in.Grains) {
		return max(in.Grains[resource], 1)
	}
	return 1
}

// whole is the largest multiple of a grain that is not above n.
func whole(n, grain int64) int64 { return n - n%grain }

// toWhole is what n lacks of a multiple of a grain.
func toWhole(n, grain int64) int64 { return (grain - n%grain) % grain }

// ordered are the members in an order that depends on nothing that changes from round to round; those of weight zero
// come last.
func ordered(bounds []Bound) []int {
	order := make([]int, len(bounds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return inLine(&bounds[i], &bounds[j]) })
	return order
}

// inLine compares the places of two members in that order.
func inLine(a, b *Bound) int {
	return cmp.Or(cmp.Compare(min(b.Weight, 1), min(a.Weight, 1)), cmp.Compare(a.Rank, b.Rank))
}

// layGrains brings each need to whole grains, of one member after the other, out of the budget that nobody needs.
func (p *plan) layGrains() {
	if p.grain == 1 {
		return
	}
	slack := p.slack()
	for _, i := range ordered(p.bounds) {
		if more := toWhole(p.need[i], p.grain); more <= slack && more <= p.claims[i].Max-p.need[i] {
			p.need[i] += more
			slack -= more
		}
	}
}

// fillGrains is fill in whole grains, which the bounds are in afterwards.
func (f *filler) fillGrains(budget, grain int64, bounds []Bound, out []int64) {
	if grain > 1 {
		budget /= grain
		for i := range bounds {
			bounds[i].Lo, bounds[i].Hi = bounds[i].Lo/grain, bounds[i].Hi/grain
		}
	}
	f.fill(budget, bounds, out)
	if grain > 1 {
		for i := range out {
			out[i] *= grain
		}
	}
}

// spread gives what is left of the budget, less than a grain for the most part, to one member after the other.
func (in *Input) spread(resource int, budget int64, bounds []Bound, targets []int64) {
	var given total
	for _, target := range targets {
		given.add(target)
	}
	rest := given.minusFrom(budget)
	if rest == 0 {
		return
	}
	for _, i := range ordered(bounds) {
		if m := &in.Members[i]; !m.Pinned {
			more := min(rest, max(m.Claims[resource].normalized().Max-targets[i], 0))
			targets[i] += more
			rest -= more
		}
	}
}
