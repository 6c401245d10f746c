package allocate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// asking is a child that uses nothing and waits with a request of each size, the smallest first.
func asking(id string, requests ...[]int64) Child {
	m := Child{ID: id, Weight: 1}
	for r := range requests[0] {
		c := Claim{Max: Unlimited}
		for _, request := range requests {
			c.Demand += request[r]
		}
		m.Claims = append(m.Claims, c)
	}
	for _, request := range requests {
		m.Shapes = append(m.Shapes, Shape{Amounts: request, Unit: request})
	}
	return m
}

// using is a child that uses what it has and waits for nothing.
func using(id string, amounts ...int64) Child {
	m := Child{ID: id, Weight: 1}
	for _, amount := range amounts {
		m.Claims = append(m.Claims, Claim{Max: Unlimited, Used: amount, Granted: amount, Target: amount})
	}
	return m
}

// TestAutoServesWholeRequests has requests wait in several resources. Those that cannot be served neither spoil what
// others are served by nor keep anything from them.
func TestAutoServesWholeRequests(t *testing.T) {
	merged := asking("a", []int64{65, 20})
	merged.Shapes[0].Unit = []int64{1, 4}
	anything := Child{ID: "c", Weight: 1, Claims: []Claim{{Max: Unlimited}, {Max: Unlimited, Demand: 100}}}
	ones := slices.Repeat([][]int64{{0, 1}}, 60)
	tests := map[string]struct {
		budgets  []int64
		children []Child
		want     [][]int64
	}{
		"one of two": {
			budgets:  []int64{8, 1},
			children: []Child{asking("a", []int64{8, 0}), asking("b", []int64{8, 0}), using("c", 0, 1)},
			want:     [][]int64{{8, 0}, {0, 0}, {0, 1}},
		},
		"small ones wait for a gpu that nobody has": {
			budgets:  []int64{8, 1},
			children: []Child{asking("a", []int64{1, 1}, []int64{8, 0}), asking("b", []int64{1, 1}, []int64{8, 0}), using("c", 0, 1)},
			want:     [][]int64{{8, 0}, {0, 0}, {0, 1}},
		},
		"each is large in another resource": {
			budgets:  []int64{4, 4},
			children: []Child{asking("a", []int64{4, 1}, []int64{1, 4}), asking("b", []int64{4, 1}, []int64{1, 4})},
			want:     [][]int64{{4, 1}, {0, 0}},
		},
		"a small one beside one that is too large": {
			budgets:  []int64{2, 98},
			children: []Child{asking("a", []int64{1, 16}, []int64{64, 64}), using("b", 0, 0)},
			want:     [][]int64{{1, 16}, {0, 0}},
		},
		"a small one beside one that is too large, while others wait": {
			budgets:  []int64{3, 48},
			children: []Child{asking("a", []int64{1, 16}, []int64{64, 64}), asking("b", []int64{1, 16}, []int64{1, 16}), asking("c", []int64{0, 16})},
			want:     [][]int64{{1, 16}, {1, 16}, {0, 16}},
		},
		"small ones that are told together with large ones": {
			budgets:  []int64{2, 98},
			children: []Child{merged, using("b", 0, 0)},
			want:     [][]int64{{2, 8}, {0, 0}},
		},
		"two that lack a part, while another waits for the rest": {
			budgets:  []int64{8, 30},
			children: []Child{asking("a", []int64{8, 10}), asking("b", []int64{8, 10}), anything},
			want:     [][]int64{{8, 10}, {0, 0}, {0, 20}},
		},
		"one that is too large takes nothing from others": {
			budgets:  []int64{2, 60},
			children: []Child{asking("a", []int64{64, 64}), asking("b", ones...), asking("c", ones...)},
			want:     [][]int64{{0, 0}, {0, 30}, {0, 30}},
		},
		"many of which few can be served take little from others": {
			budgets:  []int64{2, 62},
			children: []Child{asking("a", slices.Repeat([][]int64{{1, 1}}, 60)...), asking("b", ones...), asking("c", ones...)},
			want:     [][]int64{{2, 2}, {0, 30}, {0, 30}},
		},
		"two that lack parts of each other": {
			budgets:  []int64{8, 10},
			children: []Child{asking("a", []int64{8, 10}), asking("b", []int64{8, 2})},
			want:     [][]int64{{8, 10}, {0, 0}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Quota: "q", Budgets: tc.budgets, Children: tc.children}
			var got [][]int64
			for _, verdicts := range Auto(in, Options{ReservePercent: 100}).Verdicts {
				targets := []int64{}
				for _, v := range verdicts {
					targets = append(targets, v.Target)
				}
				got = append(got, targets)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAutoSaysWhatIsShort has a request lack one of two resources, of which the other has room for more.
func TestAutoSaysWhatIsShort(t *testing.T) {
	in := Input{Quota: "q", Budgets: []int64{6, 100}, Children: []Child{asking("a", []int64{4, 1}, []int64{4, 1})}}
	want := [][]Verdict{{{4, 4, Short}, {1, 1, Coupled}}}
	if diff := cmp.Diff(want, Auto(in, Options{ReservePercent: 100}).Verdicts); diff != "" {
		t.Errorf("Auto (-want +got):\n%s", diff)
	}
}

// TestAutoServesWhatAPoolWould checks that a request which would fit one quota is served somewhere, in any fleet in
// which nobody has a min or max, whoever else waits for what.
func TestAutoServesWhatAPoolWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyWaiting(t)
		fits, served := false, false
		verdicts := Auto(in, Options{ReservePercent: 100}).Verdicts
		for i, m := range in.Children {
			for _, k := range m.Shapes {
				fits = fits || k.fits(in.unused)
				served = served || k.fits(func(r int) int64 { return verdicts[i][r].Target - m.Claims[r].Used })
			}
		}
		if fits && !served {
			t.Fatalf("a pool has room for a request, and none fits anywhere: %v", verdicts)
		}
	})
}

// TestAutoLeavesNoRoomForARequest checks that no other request fits into what the needs of all leave.
func TestAutoLeavesNoRoomForARequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		a := newAuto(&in, options)
		a.couple()
		a.serveWhole()
		for i := range a.shapes {
			for k := range a.shapes[i] {
				shape := &a.shapes[i][k]
				room := func(r int) int64 {
					p := &a.plans[r]
					return min(p.need[i]-p.claims[i].Used+p.slack(), p.claims[i].room()) - a.served(i, r)
				}
				next := Shape{Amounts: shape.amounts}
				for r := range in.Budgets {
					next.Unit = append(next.Unit, shape.of(shape.served+1, r)-shape.of(shape.served, r))
				}
				if shape.served < shape.count && next.fits(room) {
					t.Fatalf("another request of shape %d of %d fits: %v", k, i, next.Unit)
				}
			}
		}
	})
}

// anyWaiting draws clusters in which requests of several sizes wait.
func anyWaiting(t *rapid.T) Input {
	in := Input{Quota: "q", Budgets: rapid.SliceOfN(rapid.Int64Range(0, 100), 3, 3).Draw(t, "budgets")}
	size := rapid.SliceOfN(rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, 10), rapid.Int64Range(1, 200)), 3, 3)
	for i := range rapid.IntRange(1, 6).Draw(t, "children") {
		m := using(fmt.Sprint(i), 0, 0, 0)
		for r := range m.Claims {
			used := min(rapid.Int64Range(0, 30).Draw(t, "used"), in.unused(r))
			m.Claims[r].Used, m.Claims[r].Granted, m.Claims[r].Target = used, used, used
		}
		for range rapid.IntRange(0, 3).Draw(t, "shapes") {
			count, shape := rapid.Int64Range(1, 5).Draw(t, "count"), Shape{Unit: size.Draw(t, "unit")}
			for r, unit := range shape.Unit {
				shape.Amounts = append(shape.Amounts, count*unit)
				m.Claims[r].Demand += count * unit
			}
			m.Shapes = append(m.Shapes, shape)
		}
		in.Children = append(in.Children, m)
	}
	return in
}

// unused is what of a budget nobody uses.
func (in Input) unused(resource int) int64 {
	unused := in.Budgets[resource]
	for _, m := range in.Children {
		unused -= m.Claims[resource].Used
	}
	return unused
}

// fits says whether one request that asks for something has room.
func (of Shape) fits(room func(resource int) int64) bool {
	asks := false
	for r, unit := range of.Unit {
		if unit > room(r) {
			return false
		}
		asks = asks || unit > 0
	}
	return asks
}
