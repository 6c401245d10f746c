package admission

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// waiter is a request that waits for room. fits is closed when it has a place.
type waiter struct {
	asked  amount.List
	since  time.Time
	until  time.Time
	raises int
	signs  int
	fits   chan struct{}
	place  *place
}

// queue returns the waiter of a request that there was no room for; nil if it is not worth holding.
func (l *lane) queue(asked amount.List, now time.Time) *waiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	w := &waiter{asked: asked, since: now, until: now.Add(l.hold()), raises: l.raises, signs: l.signs, fits: make(chan struct{})}
	switch {
	case l.room(asked, now):
		l.goOn(w, now)
	case l.silent(now), l.inVain(asked, now), !w.until.After(now):
		return nil
	default:
		l.waiters = append(l.waiters, w)
	}
	return w
}

// inVain says whether one that asked for no more was just held in vain, after others.
func (l *lane) inVain(asked amount.List, now time.Time) bool {
	return len(l.vain) == disappointments && slices.ContainsFunc(l.vain, func(d asking) bool {
		return now.Sub(d.at) < pace.HoldPause && asked.Covers(d.asked)
	})
}

// goOn ends the wait of a request that there is room for.
func (l *lane) goOn(w *waiter, now time.Time) {
	w.place = &place{asking: asking{asked: w.asked}}
	l.let(w.place, now)
	close(w.fits)
}

// again has a request wait on that lost its place to one at another replica, before those that came later. It is too
// late for that once its time is up.
func (l *lane) again(w *waiter, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !w.until.After(now) {
		return false
	}
	w.place, w.fits = nil, make(chan struct{})
	l.waiters = slices.Insert(l.waiters, 0, w)
	return true
}

// silent says whether nothing is to be waited for from the hub: its Lease ran out, or it was asked for a sign and gave
// none yet.
func (l *lane) silent(now time.Time) bool {
	return l.pings || l.hub.stopped(now)
}

// hold returns how long a request may be held.
func (l *lane) hold() time.Duration {
	if l.share == nil {
		return pace.Hold
	}
	return pace.HoldOf(l.share.Spec.Admission)
}

// leave ends a wait, and says whether the request has a place.
func (l *lane) leave(w *waiter, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if w.place != nil {
		return true
	}
	l.waiters = slices.DeleteFunc(l.waiters, func(other *waiter) bool { return other == w })
	if l.room(w.asked, now) {
		l.goOn(w, now)
		return true
	}
	if now.Sub(w.since) < l.hold()/2 {
		return false // it was cut short, which says nothing
	}
	if l.raises > w.raises {
		l.vain = nil
	} else if len(l.vain) == 0 || w.since.After(l.vain[len(l.vain)-1].at) {
		l.vain = append(l.vain[max(0, len(l.vain)-disappointments+1):], asking{asked: w.asked, at: now})
	}
	l.pings = l.pings || l.raises == w.raises && l.signs == w.signs
	return false
}

// stuck says whether usage is not to be relied upon. As long as the share says so the hub does not raise it, whatever
// the canary has found since.
func (g *Gate) stuck(l *lane) bool {
	share := l.shareNow()
	return g.Stuck() || share != nil && apimeta.IsStatusConditionTrue(share.Status.Conditions, quotav1alpha1.ConditionStuckQuotaController)
}

// hopeless says whether no raise can make room for a request: it is not held, and nobody else shall have less for it.
func (l *lane) hopeless(asked amount.List) bool {
	share := l.shareNow()
	return share != nil && demand.Hopeless(share, asked)
}
