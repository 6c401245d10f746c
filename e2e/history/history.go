// Package history keeps what members had at each instant, as an observer saw it arrive.
package history

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/observer"
)

// History keeps all versions. Its Add is an observer.Options.OnVersion.
type History struct {
	mu       sync.Mutex
	versions map[string][]observer.Version
}

// Add takes the next version of a member.
func (h *History) Add(v observer.Version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.versions == nil {
		h.versions = map[string][]observer.Version{}
	}
	h.versions[v.Member] = append(h.versions[v.Member], v)
}

// Between returns the versions of a member that it had at some instant between two, the last one first.
func (h *History) Between(member string, from, until time.Time) []observer.Version {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []observer.Version
	for _, v := range slices.Backward(h.versions[member]) {
		if v.Arrived.After(until) {
			continue
		}
		found = append(found, v)
		if !v.Arrived.After(from) {
			break
		}
	}
	return found
}

// Hours returns what a member held of a resource name, and what it used, times hours between two instants.
func (h *History) Hours(member string, name corev1.ResourceName, from, until time.Time) (held, used float64) {
	end := until
	for _, v := range h.Between(member, from, until) {
		begin := v.Arrived
		if begin.Before(from) {
			begin = from
		}
		hours := end.Sub(begin).Hours()
		h, u := v.Held(name), v.Used[name]
		held, used, end = held+hours*h.AsApproximateFloat64(), used+hours*u.AsApproximateFloat64(), begin
	}
	return held, used
}
