package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// costs are what was seen of two hub managers that took turns, and how the first compares with the second.
type costs struct {
	Machine  rig.Machine  `json:"machine"`
	Requests int          `json:"requests"`
	Arms     []*arm       `json:"arms"`
	Ratios   []ratio      `json:"ratios"`
	Targets  []rig.Target `json:"targets"`
}

// ratio is how a measure of all turns compares: of the first hub manager with the second, and of every other turn of
// the second with the rest of its turns, which shows what the measurement itself can tell apart.
type ratio struct {
	What  string     `json:"what"`
	Of    [2]float64 `json:"of"`
	Ratio float64    `json:"ratio"`
	Noise float64    `json:"noise"`
}

// most is by how much metrics and records may raise a measure.
const most = 1.03

// measures are what is compared of turns.
var measures = []struct {
	what   string
	of     func([]turn) float64
	target bool
}{
	{"raise out of free budget in force, p50, ms", raise(0), true},
	{"raise with a donor in force, p50, ms", raise(1), true},
	{"CPU of the hub manager in a turn, s", mean(func(t *turn) float64 { return t.Manager }), true},
	{"CPU of the hub's API server and etcd in a turn, s", mean(func(t *turn) float64 { return t.Hub }), false},
	{"time of a turn, s", mean(func(t *turn) float64 { return t.Seconds }), false},
}

// raise returns the median of the raises of a kind.
func raise(kind int) func([]turn) float64 {
	return func(turns []turn) float64 {
		var all []float64
		for i := range turns {
			all = append(all, turns[i].Raises[kind]...)
		}
		return median(all)
	}
}

// mean returns what a turn has on average, which compares any number of turns with any other.
func mean(of func(*turn) float64) func([]turn) float64 {
	return func(turns []turn) float64 { return sum(of)(turns) / float64(len(turns)) }
}

func sum(of func(*turn) float64) func([]turn) float64 {
	return func(turns []turn) (total float64) {
		for i := range turns {
			total += of(&turns[i])
		}
		return total
	}
}

// median returns the value in the middle, of two the mean, and 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func costsOf(machine rig.Machine, arms []*arm, requests int) *costs {
	c := &costs{Machine: machine, Requests: requests, Arms: arms}
	var halves [2][]turn
	for i, t := range arms[1].Turns {
		halves[i%2] = append(halves[i%2], t)
	}
	for _, m := range measures {
		of := [2]float64{m.of(arms[0].Turns), m.of(arms[1].Turns)}
		r := ratio{What: m.what, Of: of, Ratio: of[0] / of[1], Noise: m.of(halves[0]) / m.of(halves[1])}
		c.Ratios = append(c.Ratios, r)
		if m.target {
			c.Targets = append(c.Targets, rig.AtMost(m.what+", with ÷ without", most, r.Ratio))
		}
	}
	return c
}

// print prints the tables.
func (c *costs) print(out io.Writer) error {
	var b strings.Builder
	turns := len(c.Arms[0].Turns)
	fmt.Fprintf(&b, "%s\n%d turns each, of %d requests of each kind; refused:", c.Machine, turns, c.Requests)
	for _, a := range c.Arms {
		fmt.Fprintf(&b, " %s %.0f;", a.Name, sum(func(t *turn) float64 { return float64(t.Refused) })(a.Turns))
	}
	fmt.Fprintf(&b, "\n\nmeasure\t%s\t%s\tratio\tevery other turn without ÷ the rest\n", c.Arms[0].Name, c.Arms[1].Name)
	for _, r := range c.Ratios {
		fmt.Fprintf(&b, "%s\t%.2f\t%.2f\t%.3f\t%.3f\n", r.What, r.Of[0], r.Of[1], r.Ratio, r.Noise)
	}
	fmt.Fprintf(&b, "\ntarget\twant\tgot\t\n")
	for _, t := range c.Targets {
		fmt.Fprintln(&b, t.Line())
	}
	return rig.Table(out, b.String())
}
