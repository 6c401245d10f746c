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

// makeRoomForExpected sets entitled to what children may use where one lacks room for its next request: that one what
// it uses with that request, and the others together what is left, who uses the most by weight giving it.
func makeRoomForExpected(
	f *apportion.Filler, in *Input, resource int, result Result, bounds []apportion.Stake, entitled []int64,
) {
	claims, budget := make([]Claim, len(in.Children)), in.open(resource)
	for i := range in.Children {
		if m := &in.Children[i]; !m.Pinned {
			claims[i] = m.Claims[resource].normalized()
		}
	}
	expectFair(f, budget, claims, bounds, make([]int64, len(claims)))
	short := false
	for i := range claims {
		c := &claims[i]
		bounds[i].Hi = min(c.Used, c.Max)
		bounds[i].Lo = min(bounds[i].Hi, max(c.Min, c.Respite))
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
