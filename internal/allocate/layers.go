package allocate

import (
	"cmp"
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
)

// layer is a step of the distribution: everybody is brought up to its level before the next layer gets anything.
type layer struct {
	reason Reason
	level  func(c *Claim, ask int64) int64
}

// needLayers are what a member needs, the most urgent first. A lack in any of them is remedied at once.
var needLayers = [...]layer{
	{Usage, func(c *Claim, _ int64) int64 { return c.Used }},
	{Guaranteed, func(c *Claim, _ int64) int64 { return c.Min - c.Lendable }},
	{Reclaim, func(c *Claim, ask int64) int64 { return min(c.Min, amount.Add(c.Used, ask)) }},
	{Respite, func(c *Claim, _ int64) int64 { return min(c.Max, c.Respite) }},
	{Demand, func(c *Claim, ask int64) int64 { return c.wanted(ask) }},
}

// wanted is what the member would use if it got what it asks for, as far as its max holds another unit of that.
func (c *Claim) wanted(ask int64) int64 {
	if level := amount.Add(c.Used, ask); level <= c.Max {
		return level
	}
	return c.whole(max(c.Max, c.Used))
}

// fullNeed is the need of a member if the budget holds it.
func fullNeed(c *Claim, ask int64) int64 {
	var need int64
	for _, l := range needLayers {
		need = max(need, l.level(c, ask))
	}
	return need
}

// layNeed sets need: what is in use, whether the budget holds it or not, and then layer by layer what the budget holds.
func (p *plan) layNeed() {
	for i := range p.claims {
		p.need[i] = p.claims[i].Used
	}
	for _, l := range needLayers[1:] {
		var together total
		for i := range p.claims {
			level := max(p.need[i], l.level(&p.claims[i], p.asks[i]))
			p.bounds[i].Lo, p.bounds[i].Hi = p.need[i], level
			together.add(level)
		}
		if together.exceeds(p.budget) {
			p.filler.fill(p.budget, p.bounds, p.need)
			if l.reason == Demand {
				p.serveUnits()
			}
			return
		}
		for i := range p.bounds {
			p.need[i] = p.bounds[i].Hi
		}
	}
}

// serveUnits takes from each what is less than a unit of what it asks for, and serves further units out of what that leaves,
// of one member after the other, in an order that stays the same; those of weight zero come last.
func (p *plan) serveUnits() {
	var left int64
	short := p.short[:0]
	for i := range p.need {
		if p.need[i] >= p.bounds[i].Hi {
			continue
		}
		whole := max(p.bounds[i].Lo, p.claims[i].whole(p.need[i]))
		left += p.need[i] - whole
		p.need[i] = whole
		short = append(short, i)
	}
	if left == 0 {
		return
	}
	slices.SortFunc(short, func(i, j int) int {
		a, b := &p.bounds[i], &p.bounds[j]
		return cmp.Or(cmp.Compare(min(b.Weight, 1), min(a.Weight, 1)), cmp.Compare(a.Rank, b.Rank))
	})
	for _, i := range short {
		level := min(p.bounds[i].Hi, p.need[i]+left)
		if level < p.bounds[i].Hi {
			level = max(p.need[i], p.claims[i].whole(level))
		}
		left -= level - p.need[i]
		p.need[i] = level
	}
}

// layRest sets reserve, headroom and fair: what the need leaves, without what the hub keeps of it, is shared for
// headroom first and then among all up to their max. It is shared as an addition to the need, so that a busy member
// gets as much room for its next request as an idle one of the same weight.
func (p *plan) layRest() {
	var needed total
	for _, need := range p.need {
		needed.add(need)
	}
	slack := needed.minusFrom(p.budget)
	p.reserve = times(slack, percent(p.options.ReservePercent))

	more := percent(p.options.HeadroomPercent)
	for i := range p.claims {
		busy := amount.Add(p.claims[i].Used, p.asks[i])
		wish := amount.Add(busy, timesUp(busy, more))
		p.bounds[i].Lo, p.bounds[i].Hi = 0, min(wish, p.claims[i].Max)-p.need[i]
	}
	p.filler.fill(slack-p.reserve, p.bounds, p.headroom)

	for i := range p.claims {
		p.bounds[i].Lo, p.bounds[i].Hi = p.headroom[i], p.claims[i].Max-p.need[i]
	}
	p.filler.fill(slack-p.reserve, p.bounds, p.fair)
	for i := range p.fair {
		p.fair[i] += p.need[i]
	}
}
