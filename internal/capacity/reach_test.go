package capacity_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
)

// TestReach has a node count once of which two reports tell, whichever of these comes first, and nodes that are more
// count after a while.
func TestReach(t *testing.T) {
	type seen struct {
		after     int // seconds
		has, more int64
		want      int64
		again     int
	}
	for name, sightings := range map[string][]seen{
		"nothing changes":                  {{0, 2, 14, 16, 0}, {60, 2, 14, 16, 0}},
		"its cluster reports a node first": {{0, 2, 14, 16, 0}, {1, 4, 14, 16, 10}, {3, 4, 12, 16, 0}, {60, 4, 12, 16, 0}},
		"Cluster API is first":             {{0, 2, 14, 16, 0}, {1, 2, 12, 14, 0}, {3, 4, 12, 16, 0}},
		"a node every few seconds, either way": {
			{0, 2, 14, 16, 0}, {1, 4, 14, 16, 10}, {3, 4, 10, 14, 0}, {6, 8, 10, 16, 5}, {9, 8, 10, 16, 2}, {11, 8, 8, 16, 0},
		},
		"its cluster is first for long": {
			{0, 2, 14, 16, 0}, {5, 4, 14, 16, 10}, {10, 6, 12, 16, 5}, {15, 8, 10, 16, 5}, {20, 10, 8, 16, 5}, {25, 10, 6, 16, 0},
		},
		"nodes from elsewhere":                   {{0, 2, 14, 16, 0}, {1, 6, 14, 16, 10}, {10, 6, 14, 16, 1}, {11, 6, 14, 20, 0}},
		"and nobody looked meanwhile":            {{0, 2, 14, 16, 0}, {1, 6, 14, 16, 10}, {30, 6, 14, 20, 0}},
		"nodes are gone, and come again later":   {{0, 8, 8, 16, 0}, {1, 2, 8, 10, 0}, {12, 8, 8, 10, 10}, {22, 8, 8, 16, 0}},
		"one flaps":                              {{0, 8, 8, 16, 0}, {1, 6, 8, 14, 0}, {5, 8, 8, 16, 0}},
		"there may be more machines than before": {{0, 2, 14, 16, 0}, {1, 2, 30, 32, 0}},
		"and fewer":                              {{0, 2, 14, 16, 0}, {1, 2, 6, 8, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r, began := &capacity.Reach{Settle: 10 * time.Second}, time.Unix(1_000_000, 0)
			for _, s := range sightings {
				at := began.Add(time.Duration(s.after) * time.Second)
				certain, again := r.See(amount.List{"cpu": s.has}, amount.List{"cpu": s.more}, at)
				got := s
				got.want, got.again = certain["cpu"], int(again.Seconds())
				if diff := cmp.Diff(s, got, cmp.AllowUnexported(seen{})); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

// TestReachOfAStorm has machines come as nodes, each of them told by two reports that lie apart less than it takes to
// settle: at no time do more count than there are, and in the end all do.
func TestReachOfAStorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const machines, settle = 20, 10
		every, lag := rapid.IntRange(0, 4).Draw(t, "a machine every so many seconds"), rapid.IntRange(0, settle-1)
		reported, ready := make([]int, machines), make([]int, machines)
		for i := range machines {
			if comes := 1 + every*i; rapid.Bool().Draw(t, "reported first") {
				reported[i], ready[i] = comes, comes+lag.Draw(t, "later")
			} else {
				reported[i], ready[i] = comes+lag.Draw(t, "later"), comes
			}
		}
		r, began := &capacity.Reach{Settle: settle * time.Second}, time.Unix(1_000_000, 0)
		const end = 4*machines + 3*settle
		for second := range end + 1 {
			has, more := int64(0), int64(machines)
			for i := range machines {
				if reported[i] <= second {
					has++
				}
				if ready[i] <= second {
					more--
				}
			}
			certain, _ := r.See(amount.List{"pods": has}, amount.List{"pods": more}, began.Add(time.Duration(second)*time.Second))
			if got := certain["pods"]; got > machines || got > has+more || second == end && got != machines {
				t.Fatalf("after %d seconds %d count, and reports say %d and %d", second, got, has, more)
			}
		}
	})
}
