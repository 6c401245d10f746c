package allocate

// MakeRoom lowers targets of Auto below usage where another member lacks what it is guaranteed. Usage alone would let the
// member that borrowed keep it for ever, replacing each object that ends. With a target below its usage, its limit follows
// its usage down, nothing that runs being touched, until the lender has its min back.
//
// Who is lowered, and how far, is the weighted max-min of what members use and ask for, each having its min first.
func MakeRoom(in Input, result Result) {
	ranks := in.ranks()
	bounds := make([]Bound, len(in.Members))
	for r := range in.Budgets {
		if !in.lacksGuarantee(r, result) {
			continue
		}
		for i := range in.Members {
			bounds[i] = in.entitlement(i, r, ranks[i])
		}
		for i, entitled := range Fill(in.open(r), bounds) {
			c := in.Members[i].Claims[r].normalized()
			if v := &result.Verdicts[i][r]; !in.Members[i].Pinned && c.Used > entitled && v.Target > entitled {
				*v = Verdict{Target: entitled, Fair: v.Fair, Reason: Surplus}
			}
		}
	}
}

// lacksGuarantee says whether a member would get less than it could use of its min.
func (in *Input) lacksGuarantee(resource int, result Result) bool {
	for i := range in.Members {
		c := in.Members[i].Claims[resource].normalized()
		if !in.Members[i].Pinned && result.Verdicts[i][resource].Target < min(c.Min, plus(c.Used, c.Demand)) {
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
	need := min(c.Max, plus(c.Used, c.Demand))
	return Bound{Weight: m.Weight, Lo: min(c.Min, need), Hi: need, Rank: rank}
}
