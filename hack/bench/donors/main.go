// Donors measures how often the first attempt of a request is admitted that fits the budget, but only with what one,
// two or three other members give, in three resources at once: members of one budget, and of budgets in other
// namespaces under one pool.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

func main() { rig.Main("donors", run) }

// members are the one that asks, and the donors.
var members = []string{"east", "west", "north", "south"}

// report is all that was measured.
type report struct {
	Machine rig.Machine `json:"machine"`
	Cells   []cell      `json:"cells"`
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("donors", flag.ContinueOnError)
	attempts := flags.Int("attempts", 30, "requests in each cell")
	path := flags.String("out", filepath.Join("bin", "bench", "donors.json"), "file for the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := report{Machine: rig.ThisMachine()}
	fleet, err := rig.Start(ctx, "donors", members, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	for _, namespaces := range []bool{false, true} {
		for donors := 1; donors < len(members); donors++ {
			b := bench{Rig: fleet, asks: members[0], donors: members[1 : donors+1]}
			if err := b.start(ctx, namespaces); err != nil {
				return fmt.Errorf("%d donors: %w", donors, err)
			}
			for _, busy := range []int{0, runtime.NumCPU()} {
				c, err := b.measure(ctx, *attempts, busy)
				if err != nil {
					return fmt.Errorf("%d donors: %w", donors, err)
				}
				r.Cells = append(r.Cells, *c)
			}
		}
	}
	if err := r.print(out); err != nil {
		return err
	}
	return rig.Write(*path, r)
}

// print prints the table.
func (r *report) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\ndonors\tare\tloops beside it\tfirst attempts\tadmitted\tanswered, p50, ms\tp99\n", r.Machine)
	for _, c := range r.Cells {
		are := "in one budget"
		if c.Namespaces {
			are = "in other namespaces"
		}
		fmt.Fprintf(&b, "%d\t%s\t%d\t%d\t%d\t%.0f\t%.0f\n", c.Donors, are, c.Busy, c.Attempts, c.Admitted, c.P50, c.P99)
	}
	return rig.Table(out, b.String())
}
