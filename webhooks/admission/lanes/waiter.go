package lanes

import (
	"slices"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// Waiter is a request that waits for room.
type Waiter struct {
	asked  amount.List
	since  time.Time
	Until  time.Time // it waits no longer
	raises int
	signs  int
	Fits   chan struct{} // closed when it has a place
	Place  *Place
}

// Queue returns the waiter of a request that there was no room for; nil if it is not worth holding.
func (l *Lane) Queue(asked amount.List, now time.Time) *Waiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	w := &Waiter{
		asked: asked, since: now, Until: now.Add(l.hold()), raises: l.raises, signs: l.signs, Fits: make(chan struct{}),
	}
	switch {
	case l.room(asked, now):
		l.goOn(w, now)
	case l.silent(now), l.vain.Covers(asked, now), !w.Until.After(now):
		return nil
	default:
		l.waiters = append(l.waiters, w)
	}
	return w
}

// goOn ends the wait of a request that there is room for.
func (l *Lane) goOn(w *Waiter, now time.Time) {
	w.Place = &Place{asking: asking{asked: w.asked}}
	l.let(w.Place, now)
	close(w.Fits)
}

// Again has a request wait on that lost its place to one at another replica, before those that came later. It is too
// late for that once its time is up.
func (l *Lane) Again(w *Waiter, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !w.Until.After(now) {
		return false
	}
	w.Place, w.Fits = nil, make(chan struct{})
	l.waiters = slices.Insert(l.waiters, 0, w)
	return true
}

// silent says whether nothing is to be waited for from the hub: its Lease ran out, or it was pinged and gave no
// sign yet.
func (l *Lane) silent(now time.Time) bool {
	return l.pings || l.hub.stopped(now)
}

// hold returns how long a request may be held.
func (l *Lane) hold() time.Duration {
	if l.share == nil {
		return pace.Hold
	}
	return pace.HoldOf(l.share.Spec.Admission)
}

// Leave ends a wait, and says whether the request has a place.
func (l *Lane) Leave(w *Waiter, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if w.Place != nil {
		return true
	}
	l.waiters = slices.DeleteFunc(l.waiters, func(other *Waiter) bool { return other == w })
	if l.room(w.asked, now) {
		l.goOn(w, now)
		return true
	}
	if now.Sub(w.since) < l.hold()/2 {
		return false // it was cut short, which says nothing
	}
	if l.raises > w.raises {
		l.vain.Forget()
	} else {
		l.vain.Ended(w.asked, w.since, now)
	}
	l.pings = l.pings || l.raises == w.raises && l.signs == w.signs
	return false
}

// Hopeless says whether no raise can make room for a request: it is not held, and nobody else shall have less for it.
func (l *Lane) Hopeless(asked amount.List) bool {
	share := l.Share()
	return share != nil && demand.Hopeless(share, asked)
}
