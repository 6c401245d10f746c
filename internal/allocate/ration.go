package allocate

import (
	"cmp"
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// Ration cuts raises down to what is free, parallel to Input.Budgets: a child that may not be raised has no part in
// it. What is needed comes first, and among equals each gets its part by weight. The rest follows when donors have
// settled.
//
// Who gets less than it needs gets no more than serves whole requests of its shapes. With the rest its next request
// would still not fit, and the raise that makes it fit would have to wait until this one is enforced.
func Ration(in Input, result Result, free []int64, mayRaise func(child, resource int) bool) {
	ranks := in.ranks()
	needed, missing := make([]apportion.Stake, len(in.Children)), make([]apportion.Stake, len(in.Children))
	r := rationing{in: &in, raises: make([][]raise, len(in.Children)), left: slices.Clone(free)}
	for i := range r.raises {
		r.raises[i] = make([]raise, len(in.Budgets))
	}
	for resource := range in.Budgets {
		for i := range in.Children {
			c := in.Children[i].Claims[resource].normalized()
			most := max(result.Verdicts[i][resource].Target-c.Granted, 0)
			if !mayRaise(i, resource) {
				most = 0
			}
			need := max(amount.Add(c.Used, c.Demand), c.Min) - c.Granted
			needed[i] = apportion.Stake{Weight: in.Children[i].weight(resource), Hi: min(max(need, 0), most), Rank: ranks[i]}
			missing[i] = apportion.Stake{Weight: in.Children[i].weight(resource), Hi: most, Rank: ranks[i]}
		}
		for i, part := range apportion.Fill(free[resource], needed) {
			missing[i].Lo = part
		}
		for i, part := range apportion.Fill(free[resource], missing) {
			r.raises[i][resource] = raise{by: part, most: missing[i].Hi, short: part < needed[i].Hi}
			r.left[resource] -= part
		}
	}
	r.serveWhole(ranks)
	for i := range in.Children {
		for resource, raise := range r.raises[i] {
			if raise.most > 0 {
				result.Verdicts[i][resource].Target = raise.target(in.Children[i].Claims[resource].normalized(), in.grain(resource))
			}
		}
	}
}

// rationing is what is handed out, by child and resource, and what is left of each resource.
type rationing struct {
	in     *Input
	raises [][]raise
	left   []int64
}

// raise is what a child is raised by, and at most. It is short if that is less than the child needs.
type raise struct {
	by, most int64
	short    bool
}

// target is what a claim is raised to. A part of a raise has whole grains beyond what is needed: the rest of it would
// move the limit once more, and serve nobody until then.
func (r raise) target(c Claim, grain int64) int64 {
	target := c.Granted + r.by
	if r.by == r.most {
		return target
	}
	return max(apportion.Whole(target, grain), min(target, max(amount.Add(c.Used, c.Demand), c.Min)), c.Granted)
}

// serveWhole takes from each child that is short what serves no whole request, for the next one.
func (r *rationing) serveWhole(ranks []uint64) {
	var short []int
	for i := range r.raises {
		if slices.ContainsFunc(r.raises[i], func(raise raise) bool { return raise.short }) {
			short = append(short, i)
		}
	}
	if len(short) == 0 {
		return
	}
	children := r.in.Children
	slices.SortFunc(short, func(i, j int) int {
		return cmp.Or(cmp.Compare(min(children[j].Weight, 1), min(children[i].Weight, 1)), cmp.Compare(ranks[i], ranks[j]))
	})
	shapes := r.in.shapes()
	for _, i := range short {
		if shapes != nil && shapes[i] != nil {
			r.serve(i, shapes[i])
		}
	}
}

// serve raises the child i by what serves whole requests, out of its raise and of what is left.
func (r *rationing) serve(i int, shapes []shape) {
	rooms, claims := make([]int64, len(r.left)), r.in.Children[i].Claims
	for resource, raise := range r.raises[i] {
		c := claims[resource].normalized()
		r.left[resource] += raise.by
		rooms[resource] = max(c.Granted+min(raise.most, r.left[resource])-c.Used, 0)
	}
	for k := range shapes {
		shapes[k].serve(rooms)
	}
	for resource := range r.raises[i] {
		c, raise := claims[resource].normalized(), &r.raises[i][resource]
		use := c.Used
		for k := range shapes {
			use = amount.Add(use, shapes[k].of(shapes[k].served, resource))
		}
		raise.by = min(max(use, c.Min, c.Granted)-c.Granted, raise.most, r.left[resource])
		r.left[resource] -= raise.by
	}
}
