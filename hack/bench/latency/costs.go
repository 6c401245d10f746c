package main

import (
	"fmt"
	"io"
	"math"
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

// ratio is how a measure compares, turn by turn: each turn of the first hub manager with that of the second in the same
// round. Of is the median of the turns of each, Ratio that of the ratios, and Low and High are between which the true
// median of the ratios is with 95 % certainty, whatever their distribution.
type ratio struct {
	What  string     `json:"what"`
	Of    [2]float64 `json:"of"`
	Ratio float64    `json:"ratio"`
	Low   float64    `json:"low"`
	High  float64    `json:"high"`
}

// most is by how much metrics and records may raise a measure.
const most = 1.03

// measures are what is compared of turns.
var measures = []struct {
	what   string
	of     func(*turn) float64
	target bool
}{
	{"raise out of free budget in force, p50, ms", func(t *turn) float64 { return median(t.Raises[0]) }, true},
	{"raise with a donor in force, p50, ms", func(t *turn) float64 { return median(t.Raises[1]) }, true},
	{"CPU of the hub manager in a turn, s", func(t *turn) float64 { return t.Manager }, true},
	{"CPU of the hub's API server and etcd in a turn, s", func(t *turn) float64 { return t.Hub }, false},
	{"time of a turn, s", func(t *turn) float64 { return t.Seconds }, false},
	{"of it, until all was at rest before a request, s", func(t *turn) float64 { return t.Rested }, false},
}

// compare compares a measure of turns, pair by pair.
func compare(what string, of func(*turn) float64, with, without []turn) ratio {
	var values [2][]float64
	var ratios []float64
	for i := range with {
		a, b := of(&with[i]), of(&without[i])
		values[0], values[1], ratios = append(values[0], a), append(values[1], b), append(ratios, a/b)
	}
	r := ratio{What: what, Of: [2]float64{median(values[0]), median(values[1])}, Ratio: median(ratios)}
	r.Low, r.High = interval(ratios)
	return r
}

// fewest is how many values interval needs.
const fewest = 6

// interval returns between which values the median of what they are drawn from is with 95 % certainty: a coin that is
// thrown for each of them shows as few heads as there are values outside on one side in 2.5 % of all cases at most.
func interval(values []float64) (low, high float64) {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	outside, chance, upTo := 0, math.Pow(.5, float64(n)), 0.
	for k := range n / 2 {
		if upTo += chance; upTo > .025 {
			break
		}
		outside = k
		chance *= float64(n-k) / float64(k+1)
	}
	return values[outside], values[n-1-outside]
}

// median returns the value in the middle, of two the mean, and 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func costsOf(machine rig.Machine, arms []*arm, requests int) *costs {
	c := &costs{Machine: machine, Requests: requests, Arms: arms}
	for _, m := range measures {
		r := compare(m.what, m.of, arms[0].Turns, arms[1].Turns)
		c.Ratios = append(c.Ratios, r)
		if m.target {
			c.Targets = append(c.Targets, rig.AtMost(m.what+", with ÷ without, at most with 95 % certainty", most, r.High))
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
		refused := 0
		for _, t := range a.Turns {
			refused += t.Refused
		}
		fmt.Fprintf(&b, " %s %d;", a.Name, refused)
	}
	fmt.Fprintf(&b, "\n\nmeasure\t%s\t%s\tratio\t95 %% between\n", c.Arms[0].Name, c.Arms[1].Name)
	for _, r := range c.Ratios {
		fmt.Fprintf(&b, "%s\t%.2f\t%.2f\t%.3f\t%.3f and %.3f\n", r.What, r.Of[0], r.Of[1], r.Ratio, r.Low, r.High)
	}
	rig.WriteTargets(&b, c.Targets)
	return rig.Table(out, b.String())
}
