package hub

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fedquota/fedquota/internal/amount"
)

const (
	// peakWindow is how long usage is remembered: a rolling update must find its place again.
	peakWindow = time.Minute
	// defaultDampingSeconds is the least time between two moves of a limit that serve headroom alone.
	defaultDampingSeconds = 5
)

// history is what the hub manager remembers of one share. It paces moves and is no part of the protocol: a restarted hub
// manager goes on without it.
type history struct {
	mutex sync.Mutex
	// samples are the reports of the last peakWindow, oldest first.
	samples []sample
	// moved is when the target changed last.
	moved time.Time
	// revision is the entry's revision when it changed last, decided when that was; pending is true until it has settled.
	revision int64
	decided  time.Time
	pending  bool
}

// sample is the usage that a member reported at a time.
type sample struct {
	at   time.Time
	used amount.List
}

// peak notes what is used now, and returns the most that was used within the window.
func (h *history) peak(now time.Time, used amount.List) amount.List {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.samples = slices.DeleteFunc(h.samples, func(s sample) bool { return now.Sub(s.at) > peakWindow })
	if n := len(h.samples); n == 0 || !h.samples[n-1].used.Equal(used) {
		h.samples = append(h.samples, sample{at: now, used: used})
	} else {
		h.samples[n-1].at = now
	}
	peak := used.Clone()
	for _, s := range h.samples {
		peak = amount.Max(peak, s.used)
	}
	return peak
}

// dampedFor returns how long the target must not move for headroom.
func (h *history) dampedFor(now time.Time, damping time.Duration) time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return max(0, damping-now.Sub(h.moved))
}

func (h *history) move(now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.moved = now
}

// historyOf returns the history of a member's share.
func (r *QuotaReconciler) historyOf(s *scope, m *member) *history {
	h, _ := r.histories.LoadOrStore(outcomeKey{s.fq.UID, m.name}, &history{})
	return h.(*history)
}

// recall fills in what the round needs to know of the past.
func (r *QuotaReconciler) recall(s *scope) {
	damping := time.Duration(ptr.Deref(s.fq.Spec.Rebalance.DampingSeconds, defaultDampingSeconds)) * time.Second
	for _, m := range s.members {
		h := r.historyOf(s, m)
		m.peak = h.peak(s.now, m.report.Used)
		m.dampedFor = h.dampedFor(s.now, damping)
	}
}

// note remembers which targets the round has moved.
func (r *QuotaReconciler) note(s *scope) {
	for _, c := range s.fq.Status.Clusters {
		if c.Revision > s.before[string(c.Name)].Revision {
			r.historyOf(s, s.byName[string(c.Name)]).move(s.now)
		}
	}
}
