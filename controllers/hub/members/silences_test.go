package members

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/pace"
)

func TestSilences(t *testing.T) {
	var s Silences
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pause := func() time.Duration {
		begin := now
		for s.Last("west", now) {
			now = now.Add(time.Second)
		}
		return now.Sub(begin)
	}
	var got []time.Duration
	for range 5 {
		s.Answered("west", false, now)
		s.Answered("west", false, now) // another round has waited, too
		got = append(got, pause())
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if s.Last("east", now) {
		t.Error("east, which nobody has asked, is not to be asked")
	}
	s.Answered("west", true, now)
	s.Answered("west", false, now)
	if got := pause(); got != pace.FirstSilence {
		t.Errorf("a pause of %s after an answer", got)
	}
}
