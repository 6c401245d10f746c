package allocate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatic(t *testing.T) {
	cases := map[string]struct {
		budget   int64
		children []Child
		want     []Verdict
	}{
		"by weight, whatever is in use": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 3, Claims: []Claim{{Max: Unlimited, Used: 90, Demand: 50, Granted: 90}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{75, 75, Weight}, {25, 25, Weight}},
		},
		"between min and max": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Min: 60, Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: 5}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{60, 60, Guaranteed}, {5, 5, Capped}, {35, 35, Weight}},
		},
		"pinned children are taken off first": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Pinned: true, Claims: []Claim{{Max: 10, Granted: 40}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{40, 40, Pinned}, {30, 30, Weight}, {30, 30, Weight}},
		},
		"a pinned child that was seen using more counts with that": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Pinned: true, Claims: []Claim{{Max: 10, Granted: 40, Used: 44}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{44, 44, Pinned}, {56, 56, Weight}},
		},
		"pinned children hold more than the budget": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Pinned: true, Claims: []Claim{{Max: Unlimited, Granted: 140}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Min: 10, Max: Unlimited, Used: 7}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 7}}},
			},
			want: []Verdict{{140, 140, Pinned}, {0, 0, Short}, {0, 0, Weight}},
		},
		"the min that do not fit are shared by weight": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Pinned: true, Claims: []Claim{{Max: Unlimited, Granted: 40}}},
				{ID: "b", Weight: 2, Claims: []Claim{{Min: 50, Max: Unlimited}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Min: 50, Max: Unlimited}}},
				{ID: "d", Weight: 1, Claims: []Claim{{Min: 2, Max: Unlimited}}},
				{ID: "e", Weight: 9, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{40, 40, Pinned}, {39, 39, Short}, {19, 19, Short}, {2, 2, Guaranteed}, {0, 0, Weight}},
		},
		"weight zero gets its min while another can take the rest": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 0, Claims: []Claim{{Min: 5, Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{5, 5, Guaranteed}, {95, 95, Weight}},
		},
		"weight zero gets what the others may not have": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 0, Claims: []Claim{{Min: 5, Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: 30}}},
			},
			want: []Verdict{{70, 70, Weight}, {30, 30, Capped}},
		},
		"all weights zero are equals": {
			budget: 100,
			children: []Child{
				{ID: "a", Claims: []Claim{{Max: Unlimited}}},
				{ID: "b", Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{50, 50, Weight}, {50, 50, Weight}},
		},
		"a max below min counts as min": {
			budget:   100,
			children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Min: 20, Max: 10}}}},
			want:     []Verdict{{20, 20, Guaranteed}},
		},
		"a min below zero counts as zero": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Min: -5, Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Min: 60, Max: Unlimited}}},
			},
			want: []Verdict{{40, 40, Weight}, {60, 60, Guaranteed}},
		},
		"a budget below zero counts as zero": {
			budget:   -5,
			children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Min: 3, Max: Unlimited}}}},
			want:     []Verdict{{0, 0, Short}},
		},
		"nobody may have what is left": {
			budget:   100,
			children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Max: 10}}}},
			want:     []Verdict{{10, 10, Capped}},
		},
		"bytes": {
			budget: math.MaxInt64,
			children: []Child{
				{ID: "a", Weight: 1e6, Claims: []Claim{{Min: 1 << 50, Max: Unlimited}}},
				{ID: "b", Weight: 3e6, Claims: []Claim{{Min: 1 << 40, Max: 1 << 61}}},
			},
			want: []Verdict{{math.MaxInt64 - 1<<61, math.MaxInt64 - 1<<61, Weight}, {1 << 61, 1 << 61, Capped}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Static(Input{Quota: "q", Budgets: []int64{tc.budget}, Children: tc.children})
			var want [][]Verdict
			for _, v := range tc.want {
				want = append(want, []Verdict{v})
			}
			if diff := cmp.Diff(want, got.Verdicts); diff != "" {
				t.Errorf("Static (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTiesDependOnQuota makes sure that no cluster is the favourite of every quota.
func TestTiesDependOnQuota(t *testing.T) {
	wins := map[int]int{}
	for quota := range 100 {
		in := Input{Quota: string(rune('a' + quota)), Budgets: []int64{1}}
		for _, id := range []string{"x", "y", "z"} {
			in.Children = append(in.Children, Child{ID: id, Weight: 1, Claims: []Claim{{Max: Unlimited}}})
		}
		for i, row := range Static(in).Verdicts {
			wins[i] += int(row[0].Target)
		}
	}
	for i := range 3 {
		if wins[i] < 15 || wins[i] > 60 {
			t.Errorf("child %d wins %d of 100 ties, want about a third", i, wins[i])
		}
	}
}
