package simulate

import (
	"cmp"
	"math/rand"
	"slices"
	"testing"
	"time"
)

func sortByTime(requests []Request) {
	slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
}

// TestClock checks the order of events: by time, and then as they were scheduled.
func TestClock(t *testing.T) {
	var c clock
	var got []int
	random := rand.New(rand.NewSource(1))
	type scheduled struct {
		at time.Duration
		n  int
	}
	var want []scheduled
	for n := range 1000 {
		at := time.Duration(random.Intn(50))
		want = append(want, scheduled{at, n})
		c.at(at, func() { got = append(got, n) })
	}
	slices.SortStableFunc(want, func(a, b scheduled) int { return cmp.Compare(a.at, b.at) })
	c.runUntil(100)
	for i, w := range want {
		if got[i] != w.n {
			t.Fatalf("event %d is %d, want %d", i, got[i], w.n)
		}
	}
}
