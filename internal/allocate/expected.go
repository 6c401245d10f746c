package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// expects says whether a request of some child is expected.
func (in *Input) expects(resource int) bool {
	return slices.ContainsFunc(in.Children, func(m Child) bool { return m.Claims[resource].Expected > 0 })
}

// expectFair leaves those requests to be expected with which a child uses no more than its fair part: the weighted
// max-min of what children use, ask for and are expected to ask for next. What somebody uses gives no right to more.
// The bounds have weights and ranks, and parts is working memory.
func expectFair(f *apportion.Filler, budget int64, claims []Claim, bounds []apportion.Stake, parts []int64) {
	if !slices.ContainsFunc(claims, func(c Claim) bool { return c.Expected > 0 }) {
		return
	}
	for i := range claims {
		c := &claims[i]
		bounds[i].Lo, bounds[i].Hi = 0, min(c.Max, amount.Add(c.Used, max(c.Demand, c.Expected)))
	}
	f.Fill(budget, bounds, parts)
	for i := range claims {
		if c := &claims[i]; parts[i] < amount.Add(c.Used, c.Expected) {
			c.Expected = 0
		}
	}
}

// expectWhole leaves those requests to be expected that the budgets hold whole, in all resources, beside what goes
// before: of one child after the other, in an order that stays the same. A part of a request would serve nobody, and
// room for it may serve somebody else; a request that is not served is awaited.
func (a *auto) expectWhole() {
	if !slices.ContainsFunc(a.in.Children, func(m Child) bool { return m.expects() }) {
		return
	}
	left := make([]int64, len(a.plans))
	for r := range a.plans {
		var before apportion.Total
		for i := range a.in.Children {
			before.Add(a.plans[r].beforeExpected(i))
		}
		left[r] = before.MinusFrom(a.plans[r].budget)
	}
	for _, i := range apportion.Ordered(a.line) {
		if m := &a.in.Children[i]; !m.Pinned && m.expects() {
			a.expect(i, left)
		}
	}
}

// expect takes the next request of the child i off what is left, or leaves it to be awaited: where a part of it is
// beyond what is left, or beyond the child's fair part, all of it is.
func (a *auto) expect(i int, left []int64) {
	more, whole := make([]int64, len(left)), true
	for r := range a.plans {
		p := &a.plans[r]
		c := &p.claims[i]
		more[r] = max(amount.Add(c.Used, c.Expected)-p.beforeExpected(i), 0)
		whole = whole && more[r] <= left[r] && (c.Expected > 0 || a.in.Children[i].Claims[r].Expected == 0)
	}
	for r := range a.plans {
		p := &a.plans[r]
		c := &p.claims[i]
		switch {
		case whole:
			left[r] -= more[r]
		case more[r] > left[r]:
			p.awaited[i], c.Expected = c.Expected, 0
		default:
			p.coupled[i], c.Expected = c.Expected, 0
		}
	}
}

// beforeExpected is the need of the child i in the layers before that of requests that are expected.
func (p *plan) beforeExpected(i int) (need int64) {
	for _, l := range needLayers {
		if l.reason == Expected {
			break
		}
		need = max(need, l.level(&p.claims[i], p.claims[i].Demand))
	}
	return need
}

// expects says whether a request of the child is expected.
func (m *Child) expects() bool {
	return slices.ContainsFunc(m.Claims, func(c Claim) bool { return c.Expected > 0 })
}

// makeRoomForExpected sets entitled to what children may use where one lacks room for its next request: that one what
// it uses with that request, and the others together what is left. Who uses the most by weight gives it, and nobody
// gives of its fair part.
func makeRoomForExpected(
	f *apportion.Filler, in *Input, resource int, result Result, bounds []apportion.Stake, entitled []int64,
) {
	claims, budget := make([]Claim, len(in.Children)), in.open(resource)
	for i := range in.Children {
		if m := &in.Children[i]; !m.Pinned {
			claims[i] = m.Claims[resource].normalized()
		}
	}
	fair := make([]int64, len(claims))
	expectFair(f, budget, claims, bounds, fair)
	short := false
	for i := range claims {
		c := &claims[i]
		bounds[i].Hi = min(c.Used, c.Max)
		bounds[i].Lo = min(bounds[i].Hi, max(c.Min, c.Respite, fair[i]))
		if c.Expected > 0 {
			bounds[i].Hi = amount.Add(c.Used, c.Expected)
			bounds[i].Lo = bounds[i].Hi
			short = short || result.Verdicts[i][resource].Target < bounds[i].Hi
		}
	}
	if short {
		f.Fill(budget, bounds, entitled)
	}
}
