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
	a := agenda{soon: len(r.leftOut) > 0 || r.halted}
	for _, wait := range r.waits {
		a.in(wait)
	}
	if len(r.unseen) > 0 {
		a.in(pace.FirstLookInterval)
	}
	for _, c := range r.children {
		switch adopted := c.read && r.untold(c) && !r.early() && !c.cleared; {
		case c.Past.StalledFor > 0:
			a.in(c.Past.StalledFor)
		case adopted: // the next round can go on with it at once
			a.in(time.Millisecond)
		default:
			r.looksAt(c, &a)
		}
	}
	return a.exact, a.soon
}

// agenda says when to look again: exact is the shortest of the durations above 0 that it was told, 0 if there was none,
// and soon says that something may end any time.
type agenda struct {
	exact time.Duration
	soon  bool
}

func (a *agenda) in(wait time.Duration) {
	if wait > 0 && (a.exact == 0 || wait < a.exact) {
		a.exact = wait
	}
}

// looksAt says when to look at a child again.
func (r *Round) looksAt(c *child, a *agenda) {
	heldBack := c.Reading.HeldBack != (Obstacle{}) && !c.Reading.Watched
	blocked := heldBack || c.failure != "" && c.UID != "" || c.agent != acting
	a.soon = a.soon || blocked
	a.in(c.Past.ConfirmedFor)
	if c.deleting && c.agent != absent {
		a.in(pace.AgentPatience - c.Past.IdleFor + time.Millisecond)
	}
	if c.misinformed {
		a.in(c.Past.ToldFor)
	}
	standing := r.standing(c)
	a.in(standing.MovesIn(&r.in.Split))
	if c.agent != acting && !r.in.Split.Static {
		a.in(pace.DonorPatience - c.Past.IdleFor)
	}
}
