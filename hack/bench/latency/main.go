// Latency measures, on a real hub and two members, how long a request that does not fit takes to a raised limit, stage
// by stage, and what the webhook adds to a request that fits; or what metrics and records cost the hub.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

func main() { rig.Main("latency", run) }

// The members.
const (
	east = "east"
	west = "west"
)

// report is all that was measured.
type report struct {
	Machine  rig.Machine  `json:"machine"`
	Raises   []*raises    `json:"raises"`
	Overhead []latency    `json:"overhead"`
	Added    []added      `json:"added"`
	Targets  []rig.Target `json:"targets"`
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("latency", flag.ContinueOnError)
	requests := flags.Int("raises", 40, "requests that do not fit, of each kind")
	rounds := flags.Int("overhead", 400, "requests that fit, in each kind of namespace")
	arguments := flags.String("hub-args", "", "arguments of the hub manager besides, with commas between")
	eyes := flags.Int("eyes", 0, "measure what metrics and records cost instead, in so many rounds of such requests")
	path := flags.String("out", filepath.Join("bin", "bench", "latency.json"), "file for the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *eyes > 0 {
		return lookOn(ctx, *eyes, *requests, *path, out)
	}
	r := report{Machine: rig.ThisMachine()}
	more := strings.FieldsFunc(*arguments, func(r rune) bool { return r == ',' })
	fleet, err := rig.Start(ctx, "latency", []string{east, west}, nil, more...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if r.Overhead, r.Added, err = overhead(ctx, fleet, *rounds); err != nil {
		return fmt.Errorf("overhead: %w", err)
	}
	if r.Raises, err = measureRaises(ctx, fleet, *requests); err != nil {
		return fmt.Errorf("raises: %w", err)
	}
	r.compare()
	if err := r.print(out); err != nil {
		return err
	}
	return rig.Write(*path, r)
}

// compare compares what was measured with what the project wants.
func (r *report) compare() {
	r.Targets = append(r.Targets,
		rig.AtMost("raised limit in force out of free budget, p50, ms", 100, r.Raises[0].inForce().P50),
		rig.AtMost("raised limit in force with a donor, p50, ms", 200, r.Raises[1].inForce().P50))
	r.Targets = append(r.Targets,
		rig.AtMost("raised limit in force out of what is free in the pool, p50, ms", 60, r.Raises[2].inForce().P50),
		rig.AtMost("raised limit in force with a donor in another namespace, p50, ms", 150, r.Raises[3].inForce().P50))
	for _, a := range r.Added {
		if a.What == addedByWebhook {
			r.Targets = append(r.Targets, rig.AtMost("the webhook on a request that fits, p50, ms", 1, a.P50))
		}
	}
}

// print prints the tables.
func (r *report) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Machine)
	for _, raise := range r.Raises {
		fmt.Fprintf(
			&b, "\n%s: since the request, ms (%d requests, %d refused)\tp50\tp99\n", raise.Name, raise.Requests, raise.Refused,
		)
		for _, s := range raise.Stages {
			fmt.Fprintf(&b, "%s\t%.1f\t%.1f\n", s.What, s.P50, s.P99)
		}
	}
	fmt.Fprintf(&b, "\nin force, in a pool ÷ in one budget\tp50\tp99\n")
	for i, raise := range r.Raises[2:] {
		over, under := raise.inForce(), r.Raises[i].inForce()
		fmt.Fprintf(&b, "%s ÷ %s\t%.2f\t%.2f\n", raise.Name, r.Raises[i].Name, over.P50/under.P50, over.P99/under.P99)
	}
	fmt.Fprintf(&b, "\na request that fits, ms\tp50\tp90\tp99\n")
	for _, l := range r.Overhead {
		fmt.Fprintf(&b, "%s\t%.2f\t%.2f\t%.2f\n", l.What, l.P50, l.P90, l.P99)
	}
	fmt.Fprintf(&b, "\nwhat that adds, of requests made one after the other, ms\tp50\n")
	for _, a := range r.Added {
		fmt.Fprintf(&b, "%s\t%.2f\n", a.What, a.P50)
	}
	rig.WriteTargets(&b, r.Targets)
	return rig.Table(out, b.String())
}
