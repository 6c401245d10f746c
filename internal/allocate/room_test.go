package allocate

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
)

func TestMakeRoom(t *testing.T) {
	tests := map[string]struct {
		budget   int64
		children []Child
		want     []int64
	}{
		"a lender that lacks its min gets it out of what another uses": {
			budget: 30,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Lendable: 10, Max: Unlimited, Used: 0, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{22, 5},
		},
		"without a min nobody's usage is taken": {
			budget: 30,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 0, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{25, 5},
		},
		"a min that is served takes nothing": {
			budget: 30,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Demand: 10, Granted: 20, Target: 20}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Max: Unlimited, Used: 4, Demand: 20, Granted: 10, Target: 10}}},
			},
			want: []int64{20, 10},
		},
		"what is used above a cut budget is taken from who uses more than its part": {
			budget: 20,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 5, Granted: 5, Target: 5}}},
			},
			want: []int64{15, 5},
		},
		"a cut budget leaves the min": {
			budget: 20,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 15, Granted: 15, Target: 15}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 12, Lendable: 12, Max: Unlimited, Used: 15, Granted: 15, Target: 15}}},
			},
			want: []int64{8, 12},
		},
		"a budget that holds just what is used takes nothing": {
			budget: 30,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 5, Demand: 10, Granted: 5, Target: 5}}},
			},
			want: []int64{25, 5},
		},
		"the next request within the fair part takes from who uses more": {
			budget: 12,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 12, Demand: 18, Granted: 12, Target: 12}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Expected: 2}}},
				{ID: "north", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []int64{10, 0, 0},
		},
		"the next request beyond the fair part takes nothing": {
			budget: 12,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 8, Demand: 18, Granted: 8, Target: 8}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 4, Expected: 3, Granted: 4, Target: 4}}},
			},
			want: []int64{8, 4},
		},
		"the next request takes neither a min nor a respite": {
			budget: 12,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Min: 11, Max: Unlimited, Used: 12, Granted: 12, Target: 12}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Expected: 2}}},
			},
			want: []int64{11, 0},
		},
		"the next request takes from nobody within its fair part": {
			budget: 18,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 15, Respite: 15, Granted: 15, Target: 15}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 1, Granted: 1, Target: 1}}},
				{ID: "north", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 2, Expected: 3, Granted: 2, Target: 2}}},
			},
			want: []int64{15, 1, 2},
		},
		"room for a part of the next request is for others": {
			budget: 12,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 9, Granted: 9, Target: 9}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Expected: 4}}},
				{ID: "north", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 3}}},
			},
			want: []int64{8, 0, 3},
		},
		"the next request takes nothing where there is room for it": {
			budget: 12,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 9, Demand: 18, Granted: 12, Target: 12}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Expected: 2}}},
			},
			want: []int64{10, 2},
		},
		"what is used beside a pinned child": {
			budget: 30,
			children: []Child{
				{ID: "east", Pinned: true, Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Granted: 18, Target: 10}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 15, Granted: 15, Target: 15}}},
			},
			want: []int64{18, 12},
		},
		"what is used above a max is taken, and from nobody else": {
			budget: 30,
			children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: 8, Used: 12, Demand: 4, Granted: 12, Target: 12}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 16, Demand: 40, Granted: 18, Target: 18}}},
			},
			want: []int64{8, 18},
		},
		"a pinned child keeps what it holds": {
			budget: 30,
			children: []Child{
				{ID: "east", Pinned: true, Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Max: Unlimited, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{25, 5},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Quota: "q", Budgets: []int64{tc.budget}, Children: tc.children}
			result := Auto(in, Options{})
			MakeRoom(in, result)
			var got []int64
			for _, verdicts := range result.Verdicts {
				got = append(got, verdicts[0].Target)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMakeRoomForNothing has a lender ask for pods that its max does not hold in another resource: nobody makes room
// for these, and for no more than the part that it holds.
func TestMakeRoomForNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		shapes []Shape
		gpus   int64
		want   int64
	}{
		"none":             {shapes: []Shape{{Amounts: []int64{8, 2}, Unit: []int64{4, 1}}}, want: 29},
		"one of two":       {shapes: []Shape{{Amounts: []int64{8, 2}, Unit: []int64{4, 1}}}, gpus: 1, want: 26},
		"both":             {shapes: []Shape{{Amounts: []int64{8, 2}, Unit: []int64{4, 1}}}, gpus: 2, want: 22},
		"those without":    {shapes: []Shape{{Amounts: []int64{3, 0}, Unit: []int64{3, 0}}, {Amounts: []int64{5, 2}, Unit: []int64{4, 1}}}, want: 27},
		"any part":         {gpus: 1, want: 26},
		"none of any part": {want: 29},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Budgets: []int64{30, 4}, Children: []Child{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 29, Demand: 1, Granted: 29, Target: 29}, {Max: Unlimited}}},
				{ID: "west", Weight: 1, Shapes: tc.shapes, Claims: []Claim{
					{Min: 8, Lendable: 8, Max: Unlimited, Demand: 8}, {Max: tc.gpus, Demand: 2},
				}},
			}}
			result := Auto(in, Options{})
			MakeRoom(in, result)
			if got := min(result.Verdicts[0][0].Target, 29); got != tc.want {
				t.Errorf("east is left %d, want %d", got, tc.want)
			}
		})
	}
}

// TestMakeRoomOfEachResource has a lender lack all that its pods need: no resource waits for another to make room
// first.
func TestMakeRoomOfEachResource(t *testing.T) {
	in := Input{
		Quota:   "q",
		Budgets: []int64{60, 30},
		Children: []Child{
			{ID: "east", Weight: 3, Claims: []Claim{{Max: Unlimited, Used: 60, Target: 60}, {Max: Unlimited, Used: 30, Target: 30}}},
			{ID: "west", Weight: 2, Shapes: []Shape{{Amounts: []int64{20, 10}, Unit: []int64{2, 1}}}, Claims: []Claim{
				{Min: 20, Lendable: 20, Max: Unlimited, Demand: 20}, {Min: 10, Lendable: 10, Max: Unlimited, Demand: 10},
			}},
		},
	}
	result := Auto(in, Options{})
	MakeRoom(in, result)
	for r, want := range []int64{40, 20} {
		if got := result.Verdicts[0][r].Target; got != want {
			t.Errorf("resource %d: the borrower is lowered to %d, want %d", r, got, want)
		}
	}
}

// TestMakeRoomBringsUsageIntoBounds checks that nobody who uses more than the budget or a max holds is left there, that
// a min which is used is not touched, and that nobody is moved who does not use more.
func TestMakeRoomBringsUsageIntoBounds(t *testing.T) {
	lowered := 0
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 2)
		before, after := Auto(in, options), Auto(in, options)
		MakeRoom(in, after)
		for r := range in.Budgets {
			guaranteed := new(big.Int)
			for i, m := range in.Children {
				was, is, c := before.Verdicts[i][r].Target, after.Verdicts[i][r].Target, m.Claims[r].normalized()
				least := min(c.Min, amount.Add(c.Used, c.Demand))
				if m.Pinned {
					continue
				}
				guaranteed.Add(guaranteed, big.NewInt(least))
				if is > c.Max || is != was && (is > was || is >= c.Used || is < least) {
					t.Fatalf("child %d, resource %d: from %d to %d with %v", i, r, was, is, c)
				}
				if is != was {
					lowered++
				}
			}
			sum := in.sum(func(i int) int64 {
				if in.Children[i].Pinned {
					return 0
				}
				return after.Verdicts[i][r].Target
			})
			if bound := larger(big.NewInt(in.open(r)), guaranteed); sum.Cmp(bound) > 0 {
				t.Fatalf("resource %d: the sum is %d, more than %d", r, sum, bound)
			}
		}
	})
	if lowered < 20 {
		t.Errorf("only %d were lowered", lowered)
	}
}
