package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// TestCosts compares each turn of one with that of the other in the same round: what changes from round to round concerns
// both alike.
func TestCosts(t *testing.T) {
	with, without := &arm{Name: "with"}, &arm{Name: "without"}
	for round, factor := range []float64{1.01, 1.02, 1.02, 1.02, 1.02, 1.02, 1.5} {
		base := float64(round + 1)
		without.Turns = append(without.Turns, turn{Raises: [2][]float64{{base, 9, 0}, {base}}, Manager: base, Hub: base, Seconds: base, Rested: base})
		with.Turns = append(with.Turns, turn{
			Raises: [2][]float64{{base * factor, 9, 0}, {base * factor * factor}}, Manager: base * factor, Hub: base, Seconds: base, Rested: base,
		})
	}
	c := costsOf(rig.Machine{}, []*arm{with, without}, 1)
	want := []ratio{
		{Of: [2]float64{4.08, 4}, Ratio: 1.02, Low: 1.01, High: 1.5}, {Of: [2]float64{4.1616, 4}, Ratio: 1.0404, Low: 1.0201, High: 2.25},
		{Of: [2]float64{4.08, 4}, Ratio: 1.02, Low: 1.01, High: 1.5}, {Of: [2]float64{4, 4}, Ratio: 1, Low: 1, High: 1},
		{Of: [2]float64{4, 4}, Ratio: 1, Low: 1, High: 1}, {Of: [2]float64{4, 4}, Ratio: 1, Low: 1, High: 1},
	}
	want[0].High = 9. / 7 // 10.5 of 7 is not the median of 10.5, 9 and 0
	for i, r := range c.Ratios {
		want[i].What = r.What
	}
	if diff := cmp.Diff(want, c.Ratios, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out strings.Builder
	if err := c.print(&out); err != nil {
		t.Fatal(err)
	}
	if missed := strings.Count(out.String(), "MISSED"); missed != 3 {
		t.Errorf("%d targets are missed:\n%s", missed, out.String())
	}
}

// TestInterval leaves out as many values on each side as the median is beyond in 2.5 % of all cases.
func TestInterval(t *testing.T) {
	for n, outside := range map[int]int{fewest: 0, 8: 0, 9: 1, 20: 5, 40: 13} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - 1 - i)
		}
		low, high := interval(values)
		if low != float64(outside) || high != float64(n-1-outside) {
			t.Errorf("of %d values, between %g and %g", n, low, high)
		}
	}
}
