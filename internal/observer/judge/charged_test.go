package judge

import (
	"testing"

	"github.com/fedquota/fedquota/internal/observer/quantity"
)

// TestCharged says how much may exist: the ceiling, and what native quota overcharged.
func TestCharged(t *testing.T) {
	cases := map[string]struct {
		play func(r *run)
		most string
	}{
		"the budget":         {func(*run) {}, "10"},
		"while a cut drains": {func(r *run) { r.cut("pods=5") }, "10"},
		"what is granted after a cut": {func(r *run) {
			r.cut("pods=5")
			r.SetGranted(amounts("pods=7"), r.tick(), r.now)
		}, "7"},
		"overcharged": {func(r *run) { r.see("a", Next, pods(6, 8, 2)) }, "12"},
		"used above a lowered limit": {func(r *run) {
			r.see("a", Next, pods(6, 6, 2))
			r.see("a", Next, pods(3, 6, 3).Revision("2"))
		}, "10"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := twoFull()
			tc.play(r)
			_, ceiling := r.Allowed(r.now)
			used, overcharged := r.Charged()
			if most := quantity.Plus(ceiling["pods"], overcharged["pods"]); !same(most, tc.most) {
				t.Errorf("%s may exist, want %s; used are %v", most.String(), tc.most, used)
			}
		})
	}
}
