package allocate

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// layer is a step of the distribution: everybody is brought up to its level before the next layer gets anything.
type layer struct {
	reason Reason
	level  func(c *Claim, ask int64) int64
}

// needLayers are what a child needs, the most urgent first. A lack in any of them is remedied at once.
var needLayers = [...]layer{
	{Usage, func(c *Claim, _ int64) int64 { return c.Used }},
	{Guaranteed, func(c *Claim, _ int64) int64 { return c.Min - c.Lendable }},
	{Reclaim, func(c *Claim, ask int64) int64 { return min(c.Min, amount.Add(c.Used, ask)) }},
	{Respite, func(c *Claim, _ int64) int64 { return min(c.Max, c.Respite) }},
	{Expected, func(c *Claim, _ int64) int64 { return amount.Add(c.Used, c.Expected) }},
	{Demand, func(c *Claim, ask int64) int64 { return amount.Add(c.Used, ask) }},
}

// fullNeed is the need of a child if the budget holds it.
func fullNeed(c *Claim, ask int64) int64 {
	var need int64
	for _, l := range needLayers {
		need = max(need, l.level(c, ask))
	}
	return need
}

// layNeed sets need: what is in use, whether the budget holds it or not, and then layer by layer what the budget holds;
// and floor, the part of it that does not depend on whether it serves a request.
func (p *plan) layNeed() {
	for i := range p.claims {
		p.need[i] = p.claims[i].Used
	}
	for _, l := range needLayers[1:] {
		var together apportion.Total
		for i := range p.claims {
			level := max(p.need[i], l.level(&p.claims[i], p.asks[i]))
			p.bounds[i].Lo, p.bounds[i].Hi = p.need[i], level
			together.Add(level)
		}
		if together.Exceeds(p.budget) {
			p.filler.Fill(p.budget, p.bounds, p.need)
		} else {
			for i := range p.bounds {
				p.need[i] = p.bounds[i].Hi
			}
		}
		if l.reason != Demand {
			copy(p.floor, p.need)
		}
		if together.Exceeds(p.budget) {
			return
		}
	}
}

// slack is the budget that nobody needs.
func (p *plan) slack() int64 {
	var needed apportion.Total
	for _, need := range p.need {
		needed.Add(need)
	}
	return needed.MinusFrom(p.budget)
}

// layAssured sets assured, out of the budget that nobody needs, and returns how much that is together.
func (p *plan) layAssured(slack int64) int64 {
	for i := range p.claims {
		p.bounds[i].Lo, p.bounds[i].Hi = 0, min(p.claims[i].Headroom, p.claims[i].Max-p.need[i])
	}
	p.filler.FillGrains(slack, p.grain, p.bounds, p.assured)
	var together int64 // not above slack
	for _, assured := range p.assured {
		together += assured
	}
	return together
}

// layRest sets assured, reserve, headroom and fair: what the need leaves goes to the headroom that claims ask for. The
// rest, without what the hub keeps of it, is shared for headroom in percent first and then among all up to their max.
// It is shared as an addition to the need, so that a busy child gets as much room for its next request as an idle one
// of the same weight.
func (p *plan) layRest() {
	slack := p.slack()
	p.reserve = apportion.Times(slack-p.layAssured(slack), apportion.Percent(p.options.ReservePercent))

	more := apportion.Percent(p.options.HeadroomPercent)
	for i := range p.claims {
		busy := amount.Add(p.claims[i].Used, p.asks[i])
		wish := amount.Add(busy, apportion.TimesUp(busy, more))
		p.bounds[i].Lo, p.bounds[i].Hi = p.assured[i], min(wish, p.claims[i].Max)-p.need[i]
	}
	p.filler.FillGrains(slack-p.reserve, p.grain, p.bounds, p.headroom)

	for i := range p.claims {
		p.bounds[i].Lo, p.bounds[i].Hi = p.headroom[i], p.claims[i].Max-p.need[i]
	}
	p.filler.FillGrains(slack-p.reserve, p.grain, p.bounds, p.fair)
	for i := range p.fair {
		p.fair[i] += p.need[i]
	}
}

// A grain is the step in which the targets of a resource come. Nobody goes without what it needs for that: where the
// budget or a max holds no whole grain, a target is what is needed, to the unit.

// layGrains brings each need to whole grains, of one child after the other, out of the budget that nobody needs.
func (p *plan) layGrains() {
	if p.grain == 1 {
		return
	}
	slack := p.slack()
	for _, i := range apportion.Ordered(p.bounds) {
		if more := apportion.ToWhole(p.need[i], p.grain); more <= slack && more <= p.claims[i].Max-p.need[i] {
			p.need[i] += more
			slack -= more
		}
	}
}
