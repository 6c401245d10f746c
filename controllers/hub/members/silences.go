// Package members holds what the controllers of the hub manager share about member clusters.
package members

import (
	"sync"
	"time"
)

// A member whose API server does not answer is not asked for a while, which doubles each time: a round waits for each answer, and
// so do all budgets that a round is due of.
const (
	FirstSilence = 5 * time.Second
	MostSilence  = 30 * time.Second
)

// Silences are when members that did not answer in time are asked next.
type Silences struct {
	mutex sync.Mutex
	of    map[string]silence
}

// silence is until when a member is not asked, and for how long that was.
type silence struct {
	until time.Time
	pause time.Duration
}

// Answered notes whether a member has answered in time. Of several that wait at once, one counts.
func (s *Silences) Answered(member string, inTime bool, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	last := s.of[member]
	switch {
	case inTime:
		delete(s.of, member)
	case !now.Before(last.until):
		if s.of == nil {
			s.of = map[string]silence{}
		}
		pause := min(max(2*last.pause, FirstSilence), MostSilence)
		s.of[member] = silence{until: now.Add(pause), pause: pause}
	}
}

// Last says whether a member is not to be asked now.
func (s *Silences) Last(member string, now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return now.Before(s.of[member].until)
}
