package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAutoAsksADonorOnce follows a raise through the protocol: the donors confirm one after the other, the raise comes
// in parts, and rounds in between must not ask anybody again.
func TestAutoAsksADonorOnce(t *testing.T) {
	in := Input{Quota: "q", Budgets: []int64{100}}
	for i, target := range []int64{10, 30, 30, 30} {
		in.Children = append(in.Children, Child{ID: string(rune('a' + i)), Weight: 1, Damped: true, Claims: []Claim{
			{Max: Unlimited, Used: 5, Target: target, Granted: target},
		}})
	}
	in.Children[0].Claims[0].Demand = 40

	lowered := make([]int, len(in.Children))
	for round := range len(in.Children) + 1 {
		free := in.Budgets[0]
		for _, m := range in.Children {
			free -= m.Claims[0].Granted
		}
		for i, row := range Auto(in, Options{}).Verdicts {
			c := &in.Children[i].Claims[0]
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
		if round < len(in.Children) {
			in.Children[round].Claims[0].Granted = in.Children[round].Claims[0].Target
		}
	}
	if diff := cmp.Diff([]int{0, 1, 1, 1}, lowered); diff != "" {
		t.Errorf("times lowered (-want +got):\n%s", diff)
	}
	if got := in.Children[0].Claims[0].Granted; got != 45 {
		t.Errorf("granted %d in the end, want 45", got)
	}
}

// TestAutoTakesFromFew checks that a donor loses all of its surplus, except the last one: one when need is served, and
// one when headroom is.
func TestAutoTakesFromFew(t *testing.T) {
	several := 0
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 1)
		for i := range in.Children {
			in.Children[i].Claims[0].Max = Unlimited
		}
		donors, partly := in.donors(Auto(in, options).Verdicts)
		if partly > 2 {
			t.Fatalf("%d of %d donors keep a part of their surplus", partly, donors)
		}
		if donors > 2 {
			several++
		}
	})
	if several == 0 {
		t.Error("no inputs with several donors")
	}
}

// donors counts who was lowered, and who of them keeps more than the fair share.
func (in Input) donors(verdicts [][]Verdict) (all, partly int) {
	for i, row := range verdicts {
		if in.Children[i].Pinned || row[0].Target >= in.Children[i].Claims[0].Target {
			continue
		}
		all++
		if row[0].Target > row[0].Fair {
			partly++
		}
	}
	return all, partly
}
