package allocate

import "github.com/fedquota/fedquota/internal/apportion"

// Static splits every budget by weight, whatever is in use: pinned children keep what they were granted, and the others
// share what is left, each between its min and its max.
//
// Usage is no floor: a target may lie below it, and the child then gives back what its usage releases. Taking usage
// as a floor would let a child keep for ever what it should give back.
//
// Never more than the budget is handed out, apart from what pinned children hold. When the min of the others do not fit
// into what is left, they share it by weight, none getting more than its min.
func Static(in Input) Result {
	result := newResult(&in)
	bounds := make([]apportion.Stake, len(in.Children))
	targets := make([]int64, len(in.Children))
	ranks := in.ranks()
	var f apportion.Filler
	for r := range in.Budgets {
		budget := in.open(r)
		if in.staticBounds(r, budget, ranks, bounds) {
			f.FillGrains(budget, in.grain(r), bounds, targets)
			in.spread(r, budget, bounds, targets)
		} else {
			f.Fill(budget, bounds, targets)
		}
		for i := range in.Children {
			result.Verdicts[i][r] = staticVerdict(&in.Children[i], r, targets[i])
		}
	}
	return result
}

// staticBounds fills in the bounds of the children for one resource: from min to max, or from zero to min if the min do
// not fit, and says whether they do. Pinned children get nothing here.
func (in *Input) staticBounds(resource int, budget int64, ranks []uint64, bounds []apportion.Stake) (fit bool) {
	var guaranteed apportion.Total
	for i := range in.Children {
		m := &in.Children[i]
		bounds[i] = apportion.Stake{Weight: m.weight(resource), Rank: ranks[i]}
		if m.Pinned {
			continue
		}
		bounds[i].Lo = max(m.Claims[resource].Min, 0)
		bounds[i].Hi = m.Claims[resource].Max
		guaranteed.Add(bounds[i].Lo)
	}
	if !guaranteed.Exceeds(budget) {
		return true
	}
	for i := range bounds {
		bounds[i].Lo, bounds[i].Hi = 0, bounds[i].Lo
	}
	return false
}

// staticVerdict explains the target of one child for one resource.
func staticVerdict(m *Child, resource int, target int64) Verdict {
	c := &m.Claims[resource]
	if m.Pinned {
		return Verdict{Target: c.held(), Fair: c.held(), Reason: Pinned}
	}
	v := Verdict{Target: target, Fair: target, Reason: Weight}
	switch {
	case target < c.Min:
		v.Reason = Short
	case target == c.Min && target > 0:
		v.Reason = Guaranteed
	case target == c.Max:
		v.Reason = Capped
	}
	return v
}

// spread gives what is left of the budget, less than a grain for the most part, to one child after the other.
func (in *Input) spread(resource int, budget int64, bounds []apportion.Stake, targets []int64) {
	var given apportion.Total
	for _, target := range targets {
		given.Add(target)
	}
	rest := given.MinusFrom(budget)
	if rest == 0 {
		return
	}
	for _, i := range apportion.Ordered(bounds) {
		if m := &in.Children[i]; !m.Pinned {
			more := min(rest, max(m.Claims[resource].normalized().Max-targets[i], 0))
			targets[i] += more
			rest -= more
		}
	}
}
