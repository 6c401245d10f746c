package apportion

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFill(t *testing.T) {
	cases := map[string]struct {
		budget int64
		stakes []Stake
		want   []int64
	}{
		"nobody": {budget: 5, stakes: nil, want: []int64{}},
		"15 over 10 equals: the ties go by rank": {
			budget: 15,
			stakes: equals(10),
			want:   []int64{2, 2, 2, 2, 2, 1, 1, 1, 1, 1},
		},
		"the rank and not the place decides": {
			budget: 1,
			stakes: []Stake{{Weight: 1, Hi: 9, Rank: 7}, {Weight: 1, Hi: 9, Rank: 3}, {Weight: 1, Hi: 9, Rank: 5}},
			want:   []int64{0, 1, 0},
		},
		"a tie that rounding up handed out is taken back from the last rank": {
			// 3, 3 and 1 at level 1 would be 7; the level of 4 is 4/7, so 12/7, 12/7 and 4/7 round to 2, 2 and 1.
			budget: 4,
			stakes: []Stake{{Weight: 3, Hi: 9}, {Weight: 3, Hi: 9, Rank: 1}, {Weight: 1, Hi: 9, Rank: 2}},
			want:   []int64{2, 2, 0},
		},
		"claimants of one rank go in their order": {
			budget: 4,
			stakes: []Stake{
				{Weight: 1, Hi: 9}, {Weight: 1, Hi: 9}, {Weight: 1, Hi: 9}, {Weight: 1, Hi: 9},
				{Weight: 1, Hi: 9}, {Weight: 1, Hi: 9}, {Weight: 1, Hi: 9}, {Weight: 1, Hi: 9},
			},
			want: []int64{1, 1, 1, 1, 0, 0, 0, 0},
		},
		"by weight": {
			budget: 100,
			stakes: []Stake{{Weight: 5, Hi: math.MaxInt64}, {Weight: 3, Hi: math.MaxInt64}, {Weight: 2, Hi: math.MaxInt64}},
			want:   []int64{50, 30, 20},
		},
		"what a bound takes or leaves goes to the others": {
			budget: 100,
			stakes: []Stake{{Weight: 1, Hi: 10}, {Weight: 1, Lo: 50, Hi: 60}, {Weight: 1, Hi: 90}, {Weight: 3, Hi: 90}},
			want:   []int64{10, 50, 10, 30},
		},
		"lo alone reaches the budget": {
			budget: 10,
			stakes: []Stake{{Weight: 1, Lo: 6, Hi: 9}, {Weight: 1, Lo: 7, Hi: 9}},
			want:   []int64{6, 7},
		},
		"hi does not reach the budget": {
			budget: 100,
			stakes: []Stake{{Weight: 1, Hi: 9}, {Weight: 0, Hi: 8}},
			want:   []int64{9, 8},
		},
		"weight zero gets its lo while others can take the rest": {
			budget: 100,
			stakes: []Stake{{Weight: 0, Lo: 3, Hi: 50}, {Weight: 1, Hi: 97}},
			want:   []int64{3, 97},
		},
		"weight zero shares equally what the weighted cannot take": {
			budget: 100,
			stakes: []Stake{{Weight: 0, Lo: 3, Hi: 50}, {Weight: 1, Hi: 60}, {Weight: 0, Hi: 50, Rank: 1}},
			want:   []int64{20, 60, 20},
		},
		"amounts below zero count as zero, hi below lo as lo": {
			budget: 10,
			stakes: []Stake{{Weight: 1, Lo: -5, Hi: 20}, {Weight: 1, Lo: 4, Hi: 2}, {Weight: -3, Hi: 20}},
			want:   []int64{6, 4, 0},
		},
		"budget below zero": {
			budget: -1,
			stakes: []Stake{{Weight: 1, Hi: 5}},
			want:   []int64{0},
		},
		"the largest of everything": {
			budget: math.MaxInt64,
			stakes: []Stake{
				{Weight: math.MaxInt64, Hi: math.MaxInt64},
				{Weight: math.MaxInt64, Hi: math.MaxInt64, Rank: 1},
			},
			want: []int64{math.MaxInt64/2 + 1, math.MaxInt64 / 2},
		},
		"the sum of lo is beyond int64": {
			budget: math.MaxInt64,
			stakes: []Stake{{Weight: 1, Lo: math.MaxInt64}, {Weight: 1, Lo: math.MaxInt64}, {Weight: 1, Lo: math.MaxInt64}},
			want:   []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		},
		"weights beyond 64 bits together": {
			budget: math.MaxInt64,
			stakes: []Stake{
				{Weight: math.MaxInt64, Hi: math.MaxInt64},
				{Weight: math.MaxInt64, Hi: math.MaxInt64, Rank: 1},
				{Weight: 1, Hi: math.MaxInt64, Rank: 2},
				{Weight: math.MaxInt64, Hi: math.MaxInt64, Rank: 3},
			},
			want: []int64{math.MaxInt64 / 3, math.MaxInt64 / 3, 1, math.MaxInt64 / 3},
		},
		"a weight far below the others": {
			budget: math.MaxInt64,
			stakes: []Stake{{Weight: math.MaxInt64, Hi: math.MaxInt64}, {Weight: 1, Hi: math.MaxInt64}},
			want:   []int64{math.MaxInt64 - 1, 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Fill(tc.budget, tc.stakes)); diff != "" {
				t.Errorf("Fill (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFillCorrectsRoundingWithinBounds has many light claimants whose rounding leaves units to hand out or take back one
// by one, and a heavy one that is first in line for all of them until it reaches its bound.
func TestFillCorrectsRoundingWithinBounds(t *testing.T) {
	// At the level 4/200 the heavy one has 2 and each of 100 light ones has 0.02; 2 units are left.
	up := append(equals(100), Stake{Weight: 100, Hi: 3, Rank: 100})
	got := Fill(4, up)
	want := make([]int64, 101)
	want[0], want[100] = 1, 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handing out (-want +got):\n%s", diff)
	}

	// At the level 0.6 the heavy one has 60 and each of 10 light ones 0.6; rounded that is 4 too many.
	down := append(equals(10), Stake{Weight: 100, Lo: 59, Hi: math.MaxInt64, Rank: 10})
	if diff := cmp.Diff([]int64{1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 59}, Fill(66, down)); diff != "" {
		t.Errorf("taking back (-want +got):\n%s", diff)
	}
}

// equals are n claimants of weight one without a max, ranked as listed.
func equals(n int) []Stake {
	stakes := make([]Stake, n)
	for i := range stakes {
		stakes[i] = Stake{Weight: 1, Hi: math.MaxInt64, Rank: uint64(i)}
	}
	return stakes
}
