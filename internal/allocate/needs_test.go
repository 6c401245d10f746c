package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNeedsOfExpected counts the next request of a child where the budget holds it, beside what is asked for.
func TestNeedsOfExpected(t *testing.T) {
	for budget, want := range map[int64]int64{20: 9 + 4 + 3, 12: 9 + 3} {
		got := Needs(Input{Quota: "q", Budgets: []int64{budget}, Children: []Child{
			{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 9}}},
			{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Expected: 4}}},
			{ID: "north", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 3}}},
		}})
		if diff := cmp.Diff([]int64{want}, got); diff != "" {
			t.Errorf("of a budget of %d (-want +got):\n%s", budget, diff)
		}
	}
}
