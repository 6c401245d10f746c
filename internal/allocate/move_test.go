package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAutoAsksADonorOnce follows a raise through the protocol: the donors confirm one after the other, the raise comes
// in parts, and rounds in between must not ask anybody again.
func TestAutoAsksADonorOnce(t *testing.T) {
	in := Input{Quota: "q", Budgets: []int64{100}}
	for i, target := range []int64{10, 30, 30, 30} {
		in.Members = append(in.Members, Member{ID: string(rune('a' + i)), Weight: 1, Damped: true, Claims: []Claim{
			{Max: Unlimited, Used: 5, Target: target, Granted: target},
		}})
	}
	in.Members[0].Claims[0].Demand = 14

	lowered := make([]int, len(in.Members))
	for round := range len(in.Members) + 1 {
		free := in.Budgets[0]
		for _, m := range in.Members {
			free -= m.Claims[0].Granted
		}
		for i, row := range Auto(in, Options{}).Verdicts {
			c := &in.Members[i].Claims[0]
			if row[0].Target < c.Target {
				lowered[i]++
				c.Target = row[0].Target
			}
			if raise := min(free, row[0].Target-c.Target); raise > 0 {
				free -= raise
				c.Granted += raise
				c.Target = c.Granted
			}
		}
		if round < len(in.Members) {
			in.Members[round].Claims[0].Granted = in.Members[round].Claims[0].Target
		}
	}
	if diff := cmp.Diff([]int{0, 1, 1, 1}, lowered); diff != "" {
		t.Errorf("times lowered (-want +got):\n%s", diff)
	}
	if got := in.Members[0].Claims[0].Granted; got != 19 {
		t.Errorf("granted %d in the end, want 19", got)
	}
}
