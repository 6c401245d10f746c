// Package habit follows the rhythm of requests for the same, and says whether the next one is expected.
package habit

import (
	"slices"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	// mostHabits is how many kinds of requests are followed per share.
	mostHabits = 8
	// mostPauses is how many of the last pauses between requests tell of their rhythm.
	mostPauses = 3
)

// Habits are those of a share, by what one request asks for.
type Habits map[string]*Habit

// Habit is the rhythm of requests for the same, of all who are no known workload: many of these ask under a new name
// each time, as a runner does for each of its pods.
type Habit struct {
	unit amount.List
	pod  *signature.Signature // of the last one, nil if it was about another object
	last time.Time
	// pauses are the last ones, the latest first, but for those between requests that came together. Apart says that the
	// last request came after one.
	pauses []time.Duration
	apart  bool
	// refused is how many that came apart were refused in a row. Credit is for how many more that fit the next one is
	// expected, since so many were refused before.
	refused, credit int
}

// Come notes a request.
func (h *Habit) Come(now time.Time) {
	pause := now.Sub(h.last)
	h.last, h.apart = now, pause >= pace.Together
	switch {
	case pause >= pace.MostMemory:
		h.pauses, h.refused, h.credit = nil, 0, 0
	case h.apart:
		h.pauses = slices.Insert(h.pauses[:min(len(h.pauses), mostPauses-1)], 0, pause)
	}
}

// End notes what became of a request.
func (h *Habit) End(fits bool) {
	switch {
	case fits:
		h.refused, h.credit = 0, max(0, h.credit-1)
	case h.apart:
		if h.refused++; h.refused >= pace.Starved {
			h.credit = pace.Relief
		}
	}
	h.apart = false
}

// goesOn says whether the next request is expected, and not overdue.
func (h *Habit) goesOn(now time.Time) bool {
	return h.credit > 0 && len(h.pauses) > 0 && now.Sub(h.last) < pace.MemoryAfter(slices.Max(h.pauses))
}

// Follow notes a request that did not fit, and begins to follow those for the same.
func (h Habits) Follow(asked amount.List, pod *signature.Signature, now time.Time) {
	key := keyOf(asked)
	if h[key] == nil {
		if len(h) == mostHabits {
			delete(h, h.oldest())
		}
		h[key] = &Habit{unit: asked}
	}
	h[key].pod = pod
	h[key].Come(now)
}

// oldest is the key of the habit whose last request is the longest ago.
func (h Habits) oldest() (key string) {
	for k, one := range h {
		if key == "" || one.last.Before(h[key].last) {
			key = k
		}
	}
	return key
}

// Of is that of requests for the same, nil if there is none.
func (h Habits) Of(asked amount.List) *Habit { return h[keyOf(asked)] }

func keyOf(asked amount.List) string { return shape.Shape{Unit: asked}.Request() }

// Expected returns what the next request is expected to ask for, of those that were refused again and again and go on
// and that help: of each resource as much as the largest of them. It strikes out those that have ended.
func (h Habits) Expected(now time.Time, helps func(pod *signature.Signature) bool) amount.List {
	var expected amount.List
	for key, one := range h {
		switch {
		case now.Sub(one.last) >= pace.MostMemory:
			delete(h, key)
		case one.goesOn(now) && helps(one.pod):
			expected = amount.Max(expected, one.unit)
		}
	}
	return expected
}
