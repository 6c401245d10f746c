package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// MakeRoom lowers targets of Auto below usage where a child uses more than its max, where children use more than the
// budget holds, or where another lacks what it is guaranteed, or room for its next request. Usage alone would let a
// child keep what it uses for ever, replacing each object that ends. With a target below its usage, its limit follows
// its usage down, nothing that runs being touched, until the budget holds what is used, the lender has its min back,
// and there is room for the request.
//
// Who is lowered, and how far, is the weighted max-min of what children use and ask for, each having its min first; for
// a request that is expected, of what they use.
//
// A request that no raise could serve, since its child's max does not hold it in some resource, takes nothing from
// anybody.
func MakeRoom(in Input, result Result) {
	in = in.withinMax()
	ranks := in.ranks()
	entitled, bounds := make([]int64, len(in.Children)), make([]apportion.Stake, len(in.Children))
	var f apportion.Filler
	for r := range in.Budgets {
		for i := range in.Children {
			bounds[i] = in.entitlement(i, r, ranks[i])
			entitled[i] = bounds[i].Hi
		}
		if in.overused(r) || in.lacksGuarantee(r, result) {
			f.Fill(in.open(r), bounds, entitled)
		} else if in.expects(r) {
			makeRoomForExpected(&f, &in, r, result, bounds, entitled)
		}
		for i := range in.Children {
			c := in.Children[i].Claims[r].normalized()
			if v := &result.Verdicts[i][r]; !in.Children[i].Pinned && c.Used > entitled[i] && v.Target > entitled[i] {
				result.Needed[r] = true
				*v = Verdict{Target: entitled[i], Fair: v.Fair, Reason: Surplus}
				if v.Target >= c.Max {
					v.Reason = c.atMost()
				}
			}
		}
	}
}

// withinMax is the input with as much of its children' demand as their max holds in all resources.
func (in *Input) withinMax() Input {
	bounded, shapes := *in, in.shapes()
	for i := range in.Children {
		if in.Children[i].fitsMax() {
			continue
		}
		if &bounded.Children[0] == &in.Children[0] {
			bounded.Children = slices.Clone(in.Children)
		}
		m := &bounded.Children[i]
		m.Claims = slices.Clone(m.Claims)
		if len(m.Shapes) > 0 && !m.Pinned {
			m.keepWhole(shapes[i])
		} else {
			m.keepPart()
		}
	}
	return bounded
}

// fitsMax says whether the child's max holds all that it asks for.
func (m *Child) fitsMax() bool {
	return !slices.ContainsFunc(m.Claims, func(c Claim) bool {
		c = c.normalized()
		return c.Demand > c.room()
	})
}

// keepWhole leaves those requests in the demand that the child's max holds.
func (m *Child) keepWhole(shapes []shape) {
	rooms := make([]int64, len(m.Claims))
	for r := range m.Claims {
		c := m.Claims[r].normalized()
		rooms[r], m.Claims[r].Demand = c.room(), 0
	}
	for k := range shapes {
		shapes[k].serve(rooms)
		for r := range rooms {
			m.Claims[r].Demand = amount.Add(m.Claims[r].Demand, shapes[k].of(shapes[k].served, r))
		}
	}
}

// keepPart leaves that part of the demand which the child's max holds in all resources.
func (m *Child) keepPart() {
	part := apportion.Fraction{Num: 1, Den: 1}
	for r := range m.Claims {
		c := m.Claims[r].normalized()
		of := apportion.Fraction{Num: uint64(c.room()), Den: uint64(c.Demand)}
		if c.room() < c.Demand && of.Compare(part) < 0 {
			part = of
		}
	}
	for r := range m.Claims {
		m.Claims[r].Demand = apportion.TimesUp(max(m.Claims[r].Demand, 0), part)
	}
}

// overused says whether children use more than they can have together.
func (in *Input) overused(resource int) bool {
	var used apportion.Total
	for i := range in.Children {
		if m := &in.Children[i]; !m.Pinned {
			used.Add(max(m.Claims[resource].Used, 0))
		}
	}
	return used.Exceeds(in.open(resource))
}

// lacksGuarantee says whether a child would get less than it could use of its min.
func (in *Input) lacksGuarantee(resource int, result Result) bool {
	for i := range in.Children {
		c := in.Children[i].Claims[resource].normalized()
		if !in.Children[i].Pinned && result.Verdicts[i][resource].Target < min(c.Min, amount.Add(c.Used, c.Demand)) {
			return true
		}
	}
	return false
}

// entitlement bounds what a child may use when everybody has to make room.
func (in *Input) entitlement(child, resource int, rank uint64) apportion.Stake {
	m := &in.Children[child]
	if m.Pinned {
		return apportion.Stake{Rank: rank}
	}
	c := m.Claims[resource].normalized()
	need := min(c.Max, amount.Add(c.Used, c.Demand))
	return apportion.Stake{Weight: m.weight(resource), Lo: min(c.Min, need), Hi: need, Rank: rank}
}
