// Live plays drawn loads of pods on a real hub and three members, and at the same time on one control plane with a
// native ResourceQuota of the same size: what the fleet admits is compared with what one pool admits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

func main() { rig.Main("live", run) }

// pooled is the control plane with one ResourceQuota.
const pooled = "pooled"

var members = []string{"east", "west", "north"}

// report is all that was measured.
type report struct {
	Machine rig.Machine  `json:"machine"`
	Load    string       `json:"load"`
	Cells   []cell       `json:"cells"`
	Targets []rig.Target `json:"targets"`
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	loads := flags.String("loads", "0.7,0.85,0.95", "loads of the cells, as parts of the budget")
	seed := flags.Int64("seed", 1, "seed of the draws")
	pods := flags.Float64("pods", 100, "pods that would run on average if none were refused")
	length := flags.Duration("length", 3*time.Minute, "how long pods arrive that are counted")
	path := flags.String("out", filepath.Join("bin", "bench", "live.json"), "file for the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cells, err := rig.Loads(*loads)
	if err != nil {
		return err
	}
	drawn := workload.Live(len(members), *pods, *length, *seed)
	r := report{Machine: rig.ThisMachine(), Load: drawn.String()}
	fleet, err := rig.Start(ctx, "live", members, []string{pooled})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	for _, load := range cells {
		c, err := play(ctx, fleet, drawn, load)
		if err != nil {
			return fmt.Errorf("load %g: %w", load, err)
		}
		r.Cells = append(r.Cells, c)
	}
	r.compare()
	if err := r.print(out); err != nil {
		return err
	}
	return rig.Write(*path, r)
}

// compare compares what was measured with what the project wants.
func (r *report) compare() {
	for _, c := range r.Cells {
		if c.Load == .85 {
			r.Targets = append(
				r.Targets, rig.AtLeast("admitted within 5 s ÷ pooled, at .85", .98, c.ofPooled(c.within(5*time.Second))),
			)
		}
		r.Targets = append(
			r.Targets,
			rig.AtMost(fmt.Sprintf("violations that the observer proves, at %g", c.Load), 0, float64(len(c.Violations))),
		)
	}
}

// print prints the tables.
func (r *report) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.Machine, r.Load)
	fmt.Fprintf(&b, "\nload\tadmitted within\tfleet\tpooled\tfleet ÷ pooled\twork ÷ pooled\n")
	for _, c := range r.Cells {
		for _, a := range c.Admitted {
			fmt.Fprintf(
				&b, "%g\t%s\t%d of %d\t%d of %d\t%.3f\t%.3f\n", c.Load, a.Within, a.Fleet, c.Pods, a.Pooled, c.Pods,
				c.ofPooled(a), a.WorkFleet/a.WorkPooled,
			)
		}
	}
	fmt.Fprintf(
		&b,
		"\nload\tbudget, cpu\trequests, fleet\trequests, pooled\tanswer p50/p99, ms, fleet\tpooled\tlimit writes per cluster and minute\tviolations\n",
	)
	for _, c := range r.Cells {
		fmt.Fprintf(
			&b, "%g\t%.3f\t%d\t%d\t%.1f/%.1f\t%.1f/%.1f\t%.1f\t%d\n", c.Load, float64(c.Budget)/1000, c.Fleet.Requests,
			c.Pooled.Requests, c.Fleet.P50, c.Fleet.P99, c.Pooled.P50, c.Pooled.P99, c.Writes, len(c.Violations),
		)
	}
	for _, c := range r.Cells {
		for _, violation := range c.Violations {
			fmt.Fprintf(&b, "VIOLATION at %g: %s\n", c.Load, violation)
		}
	}
	rig.WriteTargets(&b, r.Targets)
	return rig.Table(out, b.String())
}
