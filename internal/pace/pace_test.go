package pace_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/pace"
)

func TestRespite(t *testing.T) {
	for name, tc := range map[string]struct{ budget, used, target, want int64 }{
		"6 % of what is used, less 0.2 % of the budget": {budget: 1000, used: 300, target: 400, want: 316},
		"no more than it has":                           {budget: 1000, used: 380, target: 400, want: 400},
		"a large budget leaves none":                    {budget: 100_000, used: 300, target: 400, want: 300},
		"nothing is used":                               {budget: 1000, target: 400},
		"more is used than it has":                      {budget: 1000, used: 500, target: 400, want: 400},
		"no budget":                                     {budget: -1, used: -1, target: 400},
		"all that can be counted":                       {budget: math.MaxInt64, used: math.MaxInt64, target: math.MaxInt64, want: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pace.Respite(tc.budget, tc.used, tc.target); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestRespiteIsBounded keeps what is used, as far as the target holds it, and no more than the target.
func TestRespiteIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.Int64Min(0)
		budget, used, target := amounts.Draw(t, "budget"), amounts.Draw(t, "used"), amounts.Draw(t, "target")
		if kept := pace.Respite(budget, used, target); kept < min(used, target) || kept > target {
			t.Errorf("keeps %d", kept)
		}
	})
}

// TestRespites has who asks for room itself keep less long what did not serve it.
func TestRespites(t *testing.T) {
	times := pace.RespiteTimes{Idle: time.Minute, Asking: time.Second}
	for demand, want := range map[int64]time.Duration{0: time.Minute, 1: time.Second} {
		if got := times.Of(demand); got != want {
			t.Errorf("with a demand of %d: %s, want %s", demand, got, want)
		}
	}
}
