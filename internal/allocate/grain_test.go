package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/apportion"
)

func TestGrains(t *testing.T) {
	idle := Claim{Max: Unlimited}
	for name, tc := range map[string]struct {
		static  bool
		budget  int64
		claims  []Claim
		options Options
		want    []int64
	}{
		"idle children share whole grains":               {budget: 40, claims: []Claim{idle, idle, idle}, want: []int64{16, 12, 12}},
		"of which the hub keeps a part":                  {budget: 16, claims: []Claim{idle, idle, idle}, options: Options{ReservePercent: 25}, want: []int64{4, 4, 4}},
		"need is met in whole grains":                    {budget: 16, claims: []Claim{{Max: Unlimited, Used: 5}, {Max: Unlimited, Demand: 6}}, want: []int64{8, 8}},
		"and to the unit where they do not fit":          {budget: 13, claims: []Claim{{Max: Unlimited, Used: 5}, {Max: Unlimited, Demand: 6}}, want: []int64{5, 8}},
		"a rest serves who needs it":                     {budget: 10, claims: []Claim{{Max: Unlimited, Used: 4, Demand: 6}, idle}, want: []int64{10, 0}},
		"a max of no whole grain":                        {budget: 40, claims: []Claim{{Max: 6, Used: 5}, idle}, want: []int64{5, 32}},
		"what is above a grain goes":                     {budget: 40, claims: []Claim{{Max: Unlimited, Used: 5, Target: 11, Granted: 11}}, options: Options{ReservePercent: 100}, want: []int64{8}},
		"more is in use than the budget holds":           {budget: 8, claims: []Claim{{Max: Unlimited, Used: 5}, {Max: Unlimited, Used: 7}}, want: []int64{5, 7}},
		"by weight alone, whole grains and one the rest": {static: true, budget: 26, claims: []Claim{idle, idle, idle}, want: []int64{10, 8, 8}},
		"by weight alone, within a max":                  {static: true, budget: 26, claims: []Claim{idle, {Max: 8}, idle}, want: []int64{10, 8, 8}},
		"by weight alone, with guarantees above it all":  {static: true, budget: 6, claims: []Claim{{Min: 4, Max: 8}, {Min: 4, Max: 8}}, want: []int64{3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Quota: "q", Budgets: []int64{tc.budget}, Grains: []int64{4}}
			for i, claim := range tc.claims {
				in.Children = append(in.Children, Child{ID: string(rune('a' + i)), Weight: 1, Claims: []Claim{claim}})
			}
			var result Result
			if tc.static {
				result = Static(in)
			} else {
				result = Auto(in, tc.options)
			}
			var got []int64
			for _, row := range result.Verdicts {
				got = append(got, row[0].Target)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAutoComesInGrains checks that a target is no whole number of grains only where that is what is needed, and less
// than a grain is free or the max holds no more.
func TestAutoComesInGrains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		v := Auto(in, options).Verdicts
		for r, budget := range in.Budgets {
			var given apportion.Total
			for i := range in.Children {
				given.Add(v[i][r].Target)
			}
			for i, m := range in.Children {
				x, grain := v[i][r].Target, in.grain(r)
				if m.Pinned || x%grain == 0 {
					continue
				}
				c := m.Claims[r].normalized()
				if more := apportion.ToWhole(x, grain); given.MinusFrom(budget) >= more && c.Max-x >= more {
					t.Fatalf("child %d, resource %d: %d with grains of %d and %d free", i, r, x, grain, given.MinusFrom(budget))
				}
				if x > max(fullNeed(&c, c.Demand), c.Used) {
					t.Fatalf("child %d, resource %d: %d with grains of %d and no need of that", i, r, x, grain)
				}
			}
		}
	})
}

// TestStaticComesInGrains checks that one target at most is no whole number of grains where each min and max is, and
// that nothing is left of the budget that fits.
func TestStaticComesInGrains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, _ := anyAuto(t, 1)
		grain := in.grain(0)
		for i := range in.Children {
			c := &in.Children[i].Claims[0]
			c.Min, c.Max, in.Children[i].Pinned = apportion.Whole(max(c.Min, 0), grain), apportion.Whole(max(c.Max, 0), grain), false
		}
		var given, guaranteed, most apportion.Total
		odd := 0
		for i, row := range Static(in).Verdicts {
			c := in.Children[i].Claims[0].normalized()
			given.Add(row[0].Target)
			guaranteed.Add(c.Min)
			most.Add(c.Max)
			if row[0].Target%grain != 0 {
				odd++
			}
		}
		if given.Exceeds(in.Budgets[0]) || given.MinusFrom(in.Budgets[0]) > 0 && most.Exceeds(in.Budgets[0]) {
			t.Fatalf("%d of %d are given", given, in.Budgets[0])
		}
		if odd > 1 && !guaranteed.Exceeds(in.Budgets[0]) {
			t.Fatalf("%d targets are no whole numbers of grains", odd)
		}
	})
}
