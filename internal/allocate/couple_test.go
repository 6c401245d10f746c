package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAutoCouples(t *testing.T) {
	// Pods of 1 cpu and 2 memory in a, of 1 and 1 in b. Memory holds half of what a asks for, cpu is short for both
	// unless a leaves what it cannot use.
	in := Input{
		Quota:   "q",
		Budgets: []int64{15, 20},
		Children: []Child{
			{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 10}, {Max: 10, Demand: 20}}},
			{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 10}, {Max: Unlimited, Demand: 10}}},
		},
	}
	want := [][]Verdict{
		{{5, 5, Coupled}, {10, 10, Capped}},
		{{10, 10, Demand}, {10, 10, Demand}},
	}
	if diff := cmp.Diff(want, Auto(in, Options{}).Verdicts); diff != "" {
		t.Errorf("Auto (-want +got):\n%s", diff)
	}
}

func TestAutoRoundsWhatItTrimsUp(t *testing.T) {
	in := Input{
		Quota:    "q",
		Budgets:  []int64{100, 1},
		Children: []Child{{ID: "a", Claims: []Claim{{Max: Unlimited, Demand: 3}, {Max: Unlimited, Demand: 2}}}},
	}
	want := [][]Verdict{{{2, 2, Coupled}, {1, 1, Short}}}
	if diff := cmp.Diff(want, Auto(in, Options{ReservePercent: 100}).Verdicts); diff != "" {
		t.Errorf("Auto (-want +got):\n%s", diff)
	}
}

// TestAutoCouplesKinds has a pod wait for a gpu that nobody has, and others of the same child, which want none, get
// their cpu.
func TestAutoCouplesKinds(t *testing.T) {
	in := Input{
		Quota:   "q",
		Budgets: []int64{4, 100},
		Children: []Child{
			{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 1}, {Max: Unlimited, Used: 10, Demand: 34}}, Shapes: []Shape{{Amounts: []int64{1, 4}, Unit: []int64{1, 4}}, {Amounts: []int64{0, 30}, Unit: []int64{0, 1}}}},
			{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 4, Target: 4}, {Max: Unlimited}}},
		},
	}
	want := [][]Verdict{
		{{0, 0, Short}, {40, 40, Coupled}},
		{{4, 4, Kept}, {0, 0, Kept}},
	}
	if diff := cmp.Diff(want, Auto(in, Options{ReservePercent: 100}).Verdicts); diff != "" {
		t.Errorf("Auto (-want +got):\n%s", diff)
	}
}

// TestAutoCouplesTies has two resources that are equally short for everybody: they must not give way to each other.
func TestAutoCouplesTies(t *testing.T) {
	in := Input{Quota: "q", Budgets: []int64{10, 20}}
	for _, id := range []string{"a", "b"} {
		in.Children = append(in.Children, Child{ID: id, Weight: 1, Claims: []Claim{
			{Max: Unlimited, Demand: 10}, {Max: Unlimited, Demand: 20},
		}})
	}
	for i, row := range Auto(in, Options{ReservePercent: 100}).Verdicts {
		if row[0].Target != 5 || row[1].Target != 10 {
			t.Errorf("child %d: %v, want 5 and 10", i, row)
		}
	}
}
