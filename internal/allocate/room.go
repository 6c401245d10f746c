package allocate

import "github.com/fedquota/fedquota/internal/amount"

// MakeRoom lowers targets of Auto below usage where a member uses more than its max, where members use more than the budget
// holds, or where another lacks what it is guaranteed. Usage alone would let a member keep what it uses for ever, replacing
// each object that ends. With a target below its usage, its limit follows its usage down, nothing that runs being touched,
// until the budget holds what is used, and the lender has its min back.
//
// Who is lowered, and how far, is the weighted max-min of what members use and ask for, each having its min first.
func MakeRoom(in Input, result Result) {
	ranks := in.ranks()
	entitled, bounds := make([]int64, len(in.Members)), make([]Bound, len(in.Members))
	var f filler
	for r := range in.Budgets {
		for i := range in.Members {
			bounds[i] = in.entitlement(i, r, ranks[i])
			entitled[i] = bounds[i].Hi
		}
		if in.overused(r) || in.lacksGuarantee(r, result) {
			f.fill(in.open(r), bounds, entitled)
		}
		for i := range in.Members {
			c := in.Members[i].Claims[r].normalized()
			if v := &result.Verdicts[i][r]; !in.Members[i].Pinned && c.Used > entitled[i] && v.Target > entitled[i] {
				*v = Verdict{Target: entitled[i], Fair: v.Fair, Reason: Surplus}
			}
		}
	}
}

// overused says whether members use more than they can have together.
func (in *Input) overused(resource int) bool {
	var used total
	for i := range in.Members {
		if m := &in.Members[i]; !m.Pinned {
			used.add(max(m.Claims[resource].Used, 0))
		}
	}
	return used.exceeds(in.open(resource))
}

// lacksGuarantee says whether a member would get less than it could use of its min.
func (in *Input) lacksGuarantee(resource int, result Result) bool {
	for i := range in.Members {
		c := in.Members[i].Claims[resource].normalized()
		if !in.Members[i].Pinned && result.Verdicts[i][resource].Target < min(c.Min, amount.Add(c.Used, c.Demand)) {
			return true
		}
	}
	return false
}

// entitlement bounds what a member may use when everybody has to make room.
func (in *Input) entitlement(member, resource int, rank uint64) Bound {
	m := &in.Members[member]
	if m.Pinned {
		return Bound{Rank: rank}
	}
	c := m.Claims[resource].normalized()
	need := min(c.Max, amount.Add(c.Used, c.Demand))
	return Bound{Weight: m.Weight, Lo: min(c.Min, need), Hi: need, Rank: rank}
}
