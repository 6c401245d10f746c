// Package members holds what the controllers of the hub manager share about member clusters.
package members

import (
	"time"

	"github.com/fedquota/fedquota/internal/pace"
)

// Silences are when members that did not answer in time are asked next.
type Silences struct{ of Memory[silence] }

// silence is until when a member is not asked, and for how long that was.
type silence struct {
	until time.Time
	pause time.Duration
}

// Answered notes whether a member has answered in time. Of several that wait at once, one counts.
func (s *Silences) Answered(member string, inTime bool, now time.Time) {
	s.of.With(member, func(last *silence) {
		switch {
		case inTime:
			*last = silence{}
		case !now.Before(last.until):
			pause := min(max(2*last.pause, pace.FirstSilence), pace.MostSilence)
			*last = silence{until: now.Add(pause), pause: pause}
		}
	})
}

// Last says whether a member is not to be asked now.
func (s *Silences) Last(member string, now time.Time) bool {
	last, _ := s.of.Get(member)
	return now.Before(last.until)
}
