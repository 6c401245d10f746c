package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// TestCosts compares all turns of one with those of the other, and the turns of the other among themselves.
func TestCosts(t *testing.T) {
	c := costsOf(rig.Machine{}, []*arm{
		{Name: "with", Turns: []turn{
			{Raises: [2][]float64{{10, 12}, {50}}, Manager: 1, Hub: 2, Seconds: 20},
			{Raises: [2][]float64{{14, 11}, {70}}, Manager: 3, Hub: 4, Seconds: 20},
			{Raises: [2][]float64{{11, 12}, {60}}, Manager: 2, Hub: 3, Seconds: 20},
		}},
		{Name: "without", Turns: []turn{
			{Raises: [2][]float64{{10, 10}, {60}}, Manager: 2, Hub: 3, Seconds: 20},
			{Raises: [2][]float64{{20, 10}, {60}}, Manager: 2, Hub: 2, Seconds: 20},
			{Raises: [2][]float64{{10, 10}, {60}}, Manager: 2, Hub: 1, Seconds: 20},
		}},
	}, 1)
	want := []ratio{
		{Of: [2]float64{11.5, 10}, Ratio: 1.15, Noise: 10. / 15}, {Of: [2]float64{60, 60}, Ratio: 1, Noise: 1},
		{Of: [2]float64{2, 2}, Ratio: 1, Noise: 1}, {Of: [2]float64{3, 2}, Ratio: 1.5, Noise: 1}, {Of: [2]float64{20, 20}, Ratio: 1, Noise: 1},
	}
	for i, r := range c.Ratios {
		want[i].What = r.What
	}
	if diff := cmp.Diff(want, c.Ratios); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out strings.Builder
	if err := c.print(&out); err != nil {
		t.Fatal(err)
	}
	if met, missed := strings.Count(out.String(), " met"), strings.Count(out.String(), "MISSED"); met != 2 || missed != 1 {
		t.Errorf("%d targets are met, %d missed:\n%s", met, missed, out.String())
	}
}
