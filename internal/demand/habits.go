package demand

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	// mostHabits is how many kinds of requests are followed per share.
	mostHabits = 8
	// mostPauses is how many of the last pauses between requests tell of their rhythm.
	mostPauses = 3
)

// habit is the rhythm of requests for the same, of all who are no known workload: many of these ask under a new name
// each time, as a runner does for each of its pods.
type habit struct {
	unit amount.List
	pod  *Shape // of the last one, nil if it was about another object
	last time.Time
	// pauses are the last ones, the latest first, but for those between requests that came together. Apart says that the
	// last request came after one.
	pauses []time.Duration
	apart  bool
	// refused is how many that came apart were refused in a row. Credit is for how many more that fit the next one is
	// expected, since so many were refused before.
	refused, credit int
}

// come notes a request.
func (h *habit) come(now time.Time) {
	pause := now.Sub(h.last)
	h.last, h.apart = now, pause >= pace.Together
	switch {
	case pause >= pace.MostMemory:
		h.pauses, h.refused, h.credit = nil, 0, 0
	case h.apart:
		h.pauses = slices.Insert(h.pauses[:min(len(h.pauses), mostPauses-1)], 0, pause)
	}
}

// end notes what became of a request.
func (h *habit) end(fits bool) {
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
func (h *habit) goesOn(now time.Time) bool {
	return h.credit > 0 && len(h.pauses) > 0 && now.Sub(h.last) < pace.MemoryAfter(slices.Max(h.pauses))
}

// follow notes a request of the owner that did not fit, and begins to follow its kind. What workloads lack is known.
func (ns *namespace) follow(share string, owner Owner, pod *Shape, asked amount.List, now time.Time) {
	if _, workload := ns.workloads[owner.UID]; workload {
		return
	}
	if ns.habits[share] == nil {
		ns.habits[share] = map[string]*habit{}
	}
	habits, key := ns.habits[share], Need{Unit: asked}.request()
	if habits[key] == nil {
		if len(habits) == mostHabits {
			delete(habits, oldest(habits))
		}
		habits[key] = &habit{unit: asked}
	}
	habits[key].pod = pod
	habits[key].come(now)
}

// oldest is the key of the habit whose last request is the longest ago.
func oldest(habits map[string]*habit) (key string) {
	for k, h := range habits {
		if key == "" || h.last.Before(habits[key].last) {
			key = k
		}
	}
	return key
}

// habit is that of the requests of an owner, nil if there is none.
func (ns *namespace) habit(share string, owner Owner, asked amount.List) *habit {
	if _, workload := ns.workloads[owner.UID]; workload || len(ns.habits[share]) == 0 {
		return nil
	}
	return ns.habits[share][Need{Unit: asked}.request()]
}

// Expected returns what the next request is expected to ask for, of those that were refused again and again and go on:
// of each resource as much as the largest of them.
func (b *Book) Expected(share *quotav1alpha1.QuotaShare, now time.Time) amount.List {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	var expected amount.List
	for key, h := range ns.habits[share.Name] {
		switch {
		case now.Sub(h.last) >= pace.MostMemory:
			delete(ns.habits[share.Name], key)
		case h.goesOn(now) && !ns.full(Owner{}, h.pod, now):
			expected = amount.Max(expected, Need{Amounts: h.unit}.limited(share.Spec.Hard).Amounts)
		}
	}
	if len(ns.habits[share.Name]) == 0 {
		delete(ns.habits, share.Name)
	}
	return expected
}

// followed says whether requests of any kind are followed that are for the share. Every request that fits asks this.
func (b *Book) followed(share types.NamespacedName) bool {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	return known && len(ns.habits[share.Name]) > 0
}
