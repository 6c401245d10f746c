package allocate

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// verdict explains the target of the child i. What the child lacks comes first, because that is what is asked about;
// then what was changed; and Kept if there is nothing to say.
func (p *plan) verdict(i int) Verdict {
	if m := &p.in.Children[i]; m.Pinned {
		held := m.Claims[p.resource].held()
		return Verdict{Target: held, Fair: held, Reason: Pinned}
	}
	v := Verdict{Target: p.targets[i], Fair: p.fair[i], Reason: Kept}
	c := &p.claims[i]
	switch {
	case v.Target < max(fullNeed(c, p.asks[i]), amount.Add(c.Used, p.awaited[i])):
		v.Reason = Short
	case v.Target >= c.Max && (c.Target > v.Target || amount.Add(c.Used, c.Demand) > v.Target):
		v.Reason = c.atMost()
	case amount.Add(c.Used, max(c.Demand, p.coupled[i])) > v.Target:
		v.Reason = Coupled
	case c.Target > v.Target:
		v.Reason = Surplus
	case c.Target < v.Target:
		v.Reason = p.raisedFor(i)
	}
	return v
}

// raisedFor is the layer in which the target of the child i lies.
func (p *plan) raisedFor(i int) Reason {
	target := p.targets[i]
	switch {
	case target > p.need[i]+p.headroom[i]:
		return Weight
	case target > p.need[i]:
		return Headroom
	}
	last := len(needLayers) - 1
	for _, l := range needLayers[:last] {
		if level := l.level(&p.claims[i], p.asks[i]); level+apportion.ToWhole(level, p.grain) >= target {
			return l.reason
		}
	}
	return needLayers[last].reason
}
