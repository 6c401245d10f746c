package allocate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAuto(t *testing.T) {
	cases := map[string]struct {
		budget   int64
		options  Options
		children []Child
		want     []Verdict
	}{
		"the first round shares by weight": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 3, Claims: []Claim{{Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{75, 75, Weight}, {25, 25, Weight}},
		},
		"nobody is short, so nothing moves": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Target: 40}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Target: 60}}},
			},
			want: []Verdict{{40, 35, Kept}, {60, 65, Kept}},
		},
		"demand is served from what is free": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 40, Demand: 10, Target: 40}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Target: 50}}},
			},
			want: []Verdict{{50, 55, Demand}, {50, 45, Kept}},
		},
		"and then from the surplus of as few others as can be, and no more than is missing": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 10, Demand: 9, Target: 10}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: 15, Used: 15, Target: 15}}},
				{ID: "c", Weight: 0, Claims: []Claim{{Max: Unlimited, Target: 50}}},
				{ID: "d", Weight: 0, Claims: []Claim{{Max: Unlimited, Target: 25}}},
			},
			want: []Verdict{{19, 85, Demand}, {15, 15, Kept}, {41, 0, Surplus}, {25, 0, Kept}},
		},
		"who lacks headroom is raised to the fair share": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 39}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 61}}},
			},
			want: []Verdict{{50, 50, Weight}, {50, 50, Surplus}},
		},
		"but not at half of the headroom": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 40}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 60}}},
			},
			want: []Verdict{{40, 50, Kept}, {60, 50, Kept}},
		},
		"and not while damped": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 35}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 65}}},
			},
			want: []Verdict{{35, 50, Kept}, {65, 50, Kept}},
		},
		"nor from those who are damped": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Target: 30}}},
				{ID: "b", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 10, Target: 60}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Max: 6, Target: 10}}},
			},
			want: []Verdict{{34, 57, Weight}, {60, 37, Kept}, {6, 6, Capped}},
		},
		"need is not damped": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 40, Demand: 5, Target: 40}}},
				{ID: "b", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 10, Target: 60}}},
			},
			want: []Verdict{{45, 68, Demand}, {55, 32, Surplus}},
		},
		"scarcity is max-min by weight, and floors are usage": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 2, Claims: []Claim{{Max: Unlimited, Used: 10, Demand: 90, Target: 10}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Demand: 90, Target: 40}}},
				{ID: "c", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 5, Demand: 5, Target: 50}}},
			},
			want: []Verdict{{50, 50, Short}, {40, 40, Short}, {10, 10, Surplus}},
		},
		"the part of min that is not lent stays": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Min: 50, Lendable: 20, Max: Unlimited}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 60, Demand: 50, Target: 80}}},
			},
			want: []Verdict{{30, 30, Guaranteed}, {70, 70, Short}},
		},
		"a lender reclaims before others get more": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Min: 50, Lendable: 50, Max: Unlimited, Used: 10, Demand: 60, Target: 20}}},
				{ID: "b", Weight: 9, Claims: []Claim{{Max: Unlimited, Used: 30, Demand: 50, Target: 80}}},
			},
			want: []Verdict{{50, 50, Short}, {50, 50, Short}},
		},
		"min is reclaimed no further than it is asked for": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{
					{Min: 50, Lendable: 50, Max: Unlimited, Used: 10, Demand: 20, Target: 20},
				}},
				{ID: "b", Weight: 9, Claims: []Claim{{Max: Unlimited, Used: 30, Demand: 50, Target: 80}}},
			},
			want: []Verdict{{30, 30, Reclaim}, {70, 70, Short}},
		},
		"the respite comes before the demand of others": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Respite: 40, Target: 20}}},
				{ID: "b", Weight: 9, Claims: []Claim{{Max: Unlimited, Used: 30, Demand: 70, Target: 80}}},
			},
			want: []Verdict{{40, 40, Respite}, {60, 60, Short}},
		},
		"a max bounds the headroom": {
			budget:  100,
			options: Options{HeadroomPercent: 20},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 50, Target: 50}}},
				{ID: "b", Weight: 9, Claims: []Claim{{Max: 44, Used: 40, Target: 50}}},
			},
			want: []Verdict{{56, 56, Headroom}, {44, 44, Capped}},
		},
		"headroom comes before the rest by weight": {
			budget:  100,
			options: Options{HeadroomPercent: 50},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Target: 40}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 50, Target: 60}}},
			},
			want: []Verdict{{45, 45, Headroom}, {55, 55, Surplus}},
		},
		"the hub keeps its reserve": {
			budget:  100,
			options: Options{ReservePercent: 25},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Target: 20}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited}}},
			},
			want: []Verdict{{50, 50, Weight}, {30, 30, Weight}},
		},
		"the hub gives its reserve for need": {
			budget:  100,
			options: Options{ReservePercent: 25},
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 50, Demand: 5, Target: 50}}},
				{ID: "b", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Target: 30}}},
			},
			want: []Verdict{{55, 72, Demand}, {30, 17, Kept}},
		},
		"the hub refills its reserve when it is below half": {
			budget:  100,
			options: Options{ReservePercent: 20},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 45}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 46}}},
			},
			want: []Verdict{{40, 40, Surplus}, {40, 40, Surplus}},
		},
		"the hub leaves it at half": {
			budget:  100,
			options: Options{ReservePercent: 20},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 45}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 45}}},
			},
			want: []Verdict{{45, 40, Kept}, {45, 40, Kept}},
		},
		"the hub keeps its reserve from headroom": {
			budget:  100,
			options: Options{ReservePercent: 50},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Target: 28}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 32}}},
			},
			want: []Verdict{{40, 40, Weight}, {20, 20, Surplus}},
		},
		"the hub refills its reserve, but not from those who are damped": {
			budget:  100,
			options: Options{ReservePercent: 20},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 45}}},
				{ID: "b", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Target: 55}}},
			},
			want: []Verdict{{40, 40, Surplus}, {55, 40, Kept}},
		},
		"a reserve beyond 100 percent is all of the slack": {
			budget:  100,
			options: Options{ReservePercent: 300},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Demand: 10, Target: 50}}},
			},
			want: []Verdict{{50, 20, Kept}},
		},
		"percentages below zero count as zero": {
			budget:   100,
			options:  Options{ReservePercent: -5, HeadroomPercent: -5},
			children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Demand: 10}}}},
			want:     []Verdict{{100, 100, Weight}},
		},
		"headroom beyond int64": {
			budget:  math.MaxInt64,
			options: Options{HeadroomPercent: 300},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: math.MaxInt64 - 10, Target: math.MaxInt64 - 10}}},
			},
			want: []Verdict{{math.MaxInt64, math.MaxInt64, Headroom}},
		},
		"assured headroom comes before the reserve of the hub and the parts by weight": {
			budget:  120,
			options: Options{ReservePercent: 25, HeadroomPercent: 10},
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Headroom: 90, Target: 45}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Target: 45}}},
			},
			want: []Verdict{{90, 90, Headroom}, {23, 23, Surplus}},
		},
		"assured headroom takes nothing that is needed": {
			budget: 120,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Headroom: 90, Target: 10}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Demand: 50, Target: 90}}},
			},
			want: []Verdict{{30, 30, Headroom}, {90, 90, Kept}},
		},
		"who needs it takes assured headroom": {
			budget: 120,
			children: []Child{
				{ID: "a", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 10, Headroom: 90, Target: 100}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Demand: 50, Target: 20}}},
			},
			want: []Verdict{{50, 50, Surplus}, {70, 70, Demand}},
		},
		"assured headroom of two is shared by weight": {
			budget: 90,
			children: []Child{
				{ID: "a", Weight: 2, Claims: []Claim{{Max: Unlimited, Headroom: 90}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Headroom: 90}}},
			},
			want: []Verdict{{60, 60, Headroom}, {30, 30, Headroom}},
		},
		"assured headroom ends at max": {
			budget:   90,
			children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Max: 40, Used: 10, Headroom: 90}}}},
			want:     []Verdict{{40, 40, Headroom}},
		},
		"who lacks a part of assured headroom is raised unless it is damped": {
			budget: 120,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Headroom: 40, Target: 49}}},
				{ID: "b", Weight: 1, Damped: true, Claims: []Claim{{Max: Unlimited, Used: 10, Headroom: 40, Target: 49}}},
			},
			want: []Verdict{{60, 60, Weight}, {49, 60, Kept}},
		},
		"a budget below zero leaves usage": {
			budget: -5,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 10, Demand: 5, Respite: 12, Target: 30}}},
			},
			want: []Verdict{{10, 10, Short}},
		},
		"a budget cut takes the surplus and stops at usage": {
			budget: 50,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 40, Target: 60}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Demand: 5, Target: 40}}},
			},
			want: []Verdict{{40, 40, Surplus}, {20, 20, Short}},
		},
		"pinned children are taken off first": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Pinned: true, Claims: []Claim{{Max: 10, Granted: 60, Used: 30, Demand: 9, Target: 30}}},
				{ID: "b", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 30, Demand: 30, Target: 50}}},
			},
			want: []Verdict{{60, 60, Pinned}, {40, 40, Short}},
		},
		"max lowers what nobody else needs, but not below usage": {
			budget: 100,
			children: []Child{
				{ID: "a", Weight: 1, Claims: []Claim{{Max: 20, Used: 30, Demand: 5, Target: 50}}},
			},
			want: []Verdict{{30, 30, Capped}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Auto(Input{Quota: "q", Budgets: []int64{tc.budget}, Children: tc.children}, tc.options)
			var want [][]Verdict
			for _, v := range tc.want {
				want = append(want, []Verdict{v})
			}
			if diff := cmp.Diff(want, got.Verdicts); diff != "" {
				t.Errorf("Auto (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAutoServesWholeUnits has objects ask that are too large to be served in part. Target after target is filled by
// what fits.
func TestAutoServesWholeUnits(t *testing.T) {
	tests := map[string]struct {
		budget int64
		claims []Claim
		units  []int64
		want   []int64
	}{
		"one of two":                {budget: 8, claims: []Claim{{Demand: 8}, {Demand: 8}}, units: []int64{8, 8}, want: []int64{8, 0}},
		"it stays where it is used": {budget: 8, claims: []Claim{{Used: 8, Target: 8}, {Demand: 8}}, units: []int64{0, 8}, want: []int64{8, 0}},
		"as many as a pool holds":   {budget: 30, claims: []Claim{{Demand: 40}, {Demand: 40}, {Demand: 40}}, units: []int64{4, 4, 4}, want: []int64{12, 8, 8}},
		"what is left goes to one":  {budget: 11, claims: []Claim{{Demand: 8}, {Demand: 9}}, units: []int64{8, 3}, want: []int64{8, 3}},
		"a max that holds no unit":  {budget: 100, claims: []Claim{{Max: 20, Demand: 30}, {Demand: 90}}, units: []int64{30, 1}, want: []int64{0, 90}},
		"all fit":                   {budget: 19, claims: []Claim{{Demand: 10}, {Demand: 9}}, units: []int64{8, 8}, want: []int64{10, 9}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Quota: "q", Budgets: []int64{tc.budget}}
			for i, c := range tc.claims {
				if c.Max == 0 {
					c.Max = Unlimited
				}
				in.Children = append(in.Children, Child{ID: string(rune('a' + i)), Weight: 1, Claims: []Claim{c}, Shapes: inUnits(c, tc.units[i])})
			}
			var got []int64
			for _, verdicts := range Auto(in, Options{ReservePercent: 100}).Verdicts {
				got = append(got, verdicts[0].Target)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// inUnits are the shapes of a claim whose requests are all of one size, none if any part of it is of use.
func inUnits(c Claim, unit int64) []Shape {
	if unit == 0 {
		return nil
	}
	return []Shape{{Amounts: []int64{c.Demand}, Unit: []int64{unit}}}
}

// TestAutoServesAsManyUnitsAsAPool draws clusters whose objects are all of one size, and checks that what fits one
// quota fits.
func TestAutoServesAsManyUnitsAsAPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit, budget := rapid.Int64Range(1, 20).Draw(t, "unit"), rapid.Int64Range(0, 500).Draw(t, "budget")
		in, asked, free := Input{Quota: "q", Budgets: []int64{budget}}, int64(0), budget
		for i := range rapid.IntRange(1, 8).Draw(t, "children") {
			c := Claim{Max: Unlimited, Used: min(free, rapid.Int64Range(0, 50).Draw(t, "used"))}
			c.Demand = unit * rapid.Int64Range(0, 30).Draw(t, "units")
			free, asked = free-c.Used, asked+c.Demand/unit
			in.Children = append(in.Children, Child{ID: string(rune('a' + i)), Weight: rapid.Int64Range(0, 5).Draw(t, "weight"), Claims: []Claim{c}, Shapes: inUnits(c, unit)})
		}
		served := int64(0)
		for i, verdicts := range Auto(in, Options{ReservePercent: 100}).Verdicts {
			c := in.Children[i].Claims[0]
			served += min(c.Demand, verdicts[0].Target-c.Used) / unit
		}
		if want := min(asked, free/unit); served < want {
			t.Fatalf("%d units fit, a pool holds %d", served, want)
		}
	})
}
