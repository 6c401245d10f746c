package hub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSilences(t *testing.T) {
	var s silences
	now := epoch
	pause := func() time.Duration {
		begin := now
		for s.lasts("west", now) {
			now = now.Add(time.Second)
		}
		return now.Sub(begin)
	}
	var got []time.Duration
	for range 5 {
		s.answered("west", false, now)
		s.answered("west", false, now) // another round has waited, too
		got = append(got, pause())
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if s.lasts("east", now) {
		t.Error("east, which nobody has asked, is not to be asked")
	}
	s.answered("west", true, now)
	s.answered("west", false, now)
	if got := pause(); got != firstSilence {
		t.Errorf("a pause of %s after an answer", got)
	}
}
