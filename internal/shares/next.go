package shares

import (
	"time"

	"github.com/fedquota/fedquota/internal/pace"
)

// Next says when to look again although nothing may be reported: exactly after the first duration if that is not 0, and
// about after the second one, which the caller spreads. The budget is one of that many.
func (d *Decision) Next(budgets int) (exact, about time.Duration) {
	if d.retries {
		return d.exact, pace.RoundRetryInterval(len(d.Verdicts), budgets)
	}
	return d.exact, pace.RoundInterval(len(d.Verdicts), budgets)
}

// next says when to look again exactly, and whether something keeps a child back whose end no watch tells.
func (r *Round) next() (time.Duration, bool) {
	next := soonest(0)
	for _, wait := range r.waits {
		next.in(wait)
	}
	if len(r.unseen) > 0 {
		next.in(pace.FirstLookInterval)
	}
	soon := len(r.leftOut) > 0 || r.halted
	for _, c := range r.children {
		switch adopted := c.read && r.untold(c) && !r.early() && !c.cleared; {
		case c.Past.StalledFor > 0:
			next.in(c.Past.StalledFor)
		case adopted: // the next round can go on with it at once
			next.in(time.Millisecond)
		default:
			soon = soon || c.Reading.HeldBack != (Obstacle{}) || c.failure != "" && c.UID != "" || c.agent != acting
			r.looksAt(c, &next)
		}
	}
	return time.Duration(next), soon
}

// soonest is the shortest of the durations above 0 that it was told, 0 if there was none.
type soonest time.Duration

func (s *soonest) in(wait time.Duration) {
	if wait > 0 && (*s == 0 || wait < time.Duration(*s)) {
		*s = soonest(wait)
	}
}

// looksAt says when to look at a child again.
func (r *Round) looksAt(c *child, next *soonest) {
	next.in(c.Past.ConfirmedFor)
	if c.deleting && c.agent != absent {
		next.in(pace.AgentPatience - c.Past.IdleFor + time.Millisecond)
	}
	if c.misinformed {
		next.in(c.Past.ToldFor)
	}
	if r.in.Split.Static {
		return
	}
	standing := r.standing(c)
	next.in(standing.MovesIn(&r.in.Split))
	if c.agent != acting {
		next.in(pace.DonorPatience - c.Past.IdleFor)
	}
}
