package pool

import (
	"maps"
	"time"

	"github.com/fedquota/fedquota/internal/round"
)

// memory is what the hub manager remembers of one pool. It is no part of the protocol: a restarted one goes on without
// it.
type memory struct {
	// heard says that this process has seen all counted that name it.
	heard bool
	// ready is the reason of Ready that an event has told last.
	ready string
	// stored is when the status was written last.
	stored time.Time
	// moved is when the target of a child changed last, as long as that damps it.
	moved map[string]time.Time
}

// note remembers which targets were moved by a round that is stored.
func (m *memory) note(limits map[string]round.Limits, now time.Time, damping time.Duration) {
	maps.DeleteFunc(m.moved, func(_ string, at time.Time) bool { return now.Sub(at) >= damping })
	for key, byName := range limits {
		for _, limit := range byName {
			if limit.Moves() && limit.From > 0 {
				m.moved[key] = now
			}
		}
	}
}
