package shares

import (
	"time"

	"github.com/fedquota/fedquota/internal/pace"
)

// Next says when to look again although nothing may be reported: exactly after the first duration if that is not 0, and
// about after the second one, which the caller spreads. The budget is one of that many.
func (d *Decision) Next(budgets int) (exact, about time.Duration) {
	r := d.round
	retry := pace.RoundRetryInterval(len(r.children), budgets)
	next := soonest(0)
	for _, wait := range r.steered.Waits {
		next.in(wait)
	}
	if len(r.unseen) > 0 {
		next.in(pace.FirstLookInterval)
	}
	about = pace.RoundInterval(len(r.children), budgets)
	if len(r.leftOut) > 0 || r.in.halted() {
		about = retry
	}
	for _, c := range r.children {
		if c.Past.StalledFor == 0 && !r.adoptableNext(c) && c.blocked() {
			about = retry
		}
		r.looksAt(c, d.Fleet, &next)
	}
	return time.Duration(next), about
}

// soonest is the shortest of the durations above 0 that it was told, 0 if there was none.
type soonest time.Duration

func (s *soonest) in(wait time.Duration) {
	if wait > 0 && (*s == 0 || wait < time.Duration(*s)) {
		*s = soonest(wait)
	}
}

// looksAt says when to look at a child again.
func (r *Round) looksAt(c *child, fleet Fleet, next *soonest) {
	switch {
	case c.Past.StalledFor > 0:
		next.in(c.Past.StalledFor)
		return
	case r.adoptableNext(c):
		next.in(time.Millisecond)
		return
	}
	next.in(c.Past.ConfirmedFor)
	if c.deleting() && c.agent != absent {
		next.in(pace.AgentPatience - c.Past.IdleFor + time.Millisecond)
	}
	if c.misinformed(fleet) {
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

// blocked says whether something keeps a child back whose end no watch tells.
func (c *child) blocked() bool {
	return c.Reading.HeldBack != (Obstacle{}) || c.failure != "" && c.UID != "" || c.agent != acting
}

// adoptableNext says whether the next round can go on with a child at once: it can be adopted then.
func (r *Round) adoptableNext(c *child) bool {
	return c.read() && r.untold(c) && !r.early() && !c.cleared()
}
