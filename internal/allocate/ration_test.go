package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/apportion"
)

// TestRation raises children that need more than is free yet, as long as donors have not settled.
func TestRation(t *testing.T) {
	idle := Child{ID: "d", Weight: 1, Claims: []Claim{{Max: Unlimited}}}
	tests := map[string]struct {
		children []Child
		targets  [][]int64
		free     []int64
		want     [][]int64
	}{
		"all is free":                             {children: []Child{asking("a", []int64{6})}, targets: [][]int64{{6}}, free: []int64{6}, want: [][]int64{{6}}},
		"a part of a request serves nobody":       {children: []Child{asking("a", []int64{6})}, targets: [][]int64{{6}}, free: []int64{5}, want: [][]int64{{0}}},
		"nor do parts of two":                     {children: []Child{asking("a", []int64{6}), asking("b", []int64{6})}, targets: [][]int64{{6}, {6}}, free: []int64{6}, want: [][]int64{{6}, {0}}},
		"one of two":                              {children: []Child{asking("a", []int64{2}, []int64{6})}, targets: [][]int64{{8}}, free: []int64{7}, want: [][]int64{{2}}},
		"in every resource":                       {children: []Child{asking("a", []int64{6, 1})}, targets: [][]int64{{6, 1}}, free: []int64{5, 1}, want: [][]int64{{0, 0}}},
		"headroom waits for what is needed":       {children: []Child{asking("a", []int64{6}), idle}, targets: [][]int64{{6}, {3}}, free: []int64{7}, want: [][]int64{{6}, {1}}},
		"headroom gets what serves no request":    {children: []Child{asking("a", []int64{6}), idle}, targets: [][]int64{{6}, {3}}, free: []int64{5}, want: [][]int64{{0}, {0}}},
		"without shapes any part of it is of use": {children: []Child{{ID: "a", Weight: 1, Claims: []Claim{{Max: Unlimited, Demand: 6}}}}, targets: [][]int64{{6}}, free: []int64{5}, want: [][]int64{{5}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Budgets: make([]int64, len(tc.free)), Children: tc.children}
			result := newResult(&in)
			for i, row := range tc.targets {
				for r, target := range row {
					result.Verdicts[i][r].Target = target
				}
			}
			Ration(in, result, tc.free, func(int, int) bool { return true })
			var got [][]int64
			for _, row := range result.Verdicts {
				var targets []int64
				for _, verdict := range row {
					targets = append(targets, verdict.Target)
				}
				got = append(got, targets)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRationStaysWithinTheFree rations raises of any fleet: together they take no more than is free, none goes above
// what was decided, and who may not be raised is not.
func TestRationStaysWithinTheFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, rapid.IntRange(1, 3).Draw(t, "resources"))
		decided, rationed := Auto(in, options), Auto(in, options)
		free := make([]int64, len(in.Budgets))
		for r := range free {
			free[r] = amounts().Draw(t, "free")
		}
		never := rapid.IntRange(0, len(in.Children)).Draw(t, "never")
		Ration(in, rationed, free, func(child, _ int) bool { return child != never })
		for r := range free {
			var taken apportion.Total
			for i, m := range in.Children {
				granted := max(m.Claims[r].Granted, 0)
				before, after := decided.Verdicts[i][r].Target, rationed.Verdicts[i][r].Target
				if before <= granted || i == never {
					if after != before {
						t.Fatalf("child %d, resource %d: target %d became %d, and it was not to be raised above %d", i, r, before, after, granted)
					}
					continue
				}
				if after < granted || after > before {
					t.Fatalf("child %d, resource %d: %d became %d, above %d", i, r, before, after, granted)
				}
				taken.Add(after - granted)
			}
			if taken.Exceeds(max(free[r], 0)) {
				t.Fatalf("resource %d: took %d of %d", r, taken, free[r])
			}
		}
	})
}
