// Replay measures what the split of a budget costs: it plays drawn loads and public traces through the product's
// allocator and ledger in a simulation, and compares with one quota over all clusters and with a static split. It
// prints tables and writes all numbers as JSON.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/internal/pace"
)

func main() { rig.Main("replay", run) }

// run does all that the command line asks for.
func run(_ context.Context, args []string, out io.Writer) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	report, err := c.measure()
	if err != nil {
		return err
	}
	if err := report.print(out); err != nil {
		return err
	}
	return rig.Write(c.out, report)
}

// config is the command line.
type config struct {
	parts    []string
	loads    []float64
	clusters []int
	seeds    int
	seed     int64 // of the first draw
	traces   string
	out      string
	knobs    knobs
}

// knobs are those of the product that a run may set differently.
type knobs struct {
	Hold     time.Duration `json:"holdNanoseconds"`
	Respite  time.Duration `json:"respiteNanoseconds"`
	Asking   time.Duration `json:"askingRespiteNanoseconds"`
	Damp     time.Duration `json:"dampNanoseconds"`
	Headroom int64         `json:"headroomPercent"`
	Reserve  int64         `json:"reservePercent"`
}

// parts are what can be measured, in this order.
var parts = []string{"synthetic", "tree", "patient", "steady", "helios", "lcg"}

// parse reads the command line.
func parse(args []string) (c config, err error) {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	chosen := flags.String("parts", strings.Join(parts, ","), "what to measure")
	loads := flags.String("loads", "0.7,0.85,0.95", "loads of the synthetic cells, as parts of the budget")
	clusters := flags.String("clusters", "3,10,50", "numbers of clusters of the synthetic cells")
	flags.IntVar(&c.seeds, "seeds", 6, "draws per synthetic cell")
	flags.Int64Var(&c.seed, "first-seed", 1, "seed of the first draw; the others follow")
	flags.StringVar(&c.traces, "traces", os.Getenv("FEDQUOTA_TRACES"),
		"folder of the traces; without it, what needs them is skipped (default: $FEDQUOTA_TRACES)")
	flags.StringVar(&c.out, "out", filepath.Join("bin", "bench", "replay.json"), "file for the numbers")
	flags.DurationVar(&c.knobs.Hold, "hold", pace.Hold, "how long a request may wait for a raise")
	flags.DurationVar(&c.knobs.Respite, "respite", pace.RespiteTime, "how long a cluster that gave room keeps its respite")
	flags.DurationVar(
		&c.knobs.Asking, "asking-respite", pace.AskingRespiteTime, "how long it does while it asks for room itself",
	)
	flags.DurationVar(&c.knobs.Damp, "damp", pace.HoldDamping,
		"how long a cluster is damped after its limit moved, where requests may wait")
	flags.Int64Var(&c.knobs.Headroom, "headroom", pace.HeadroomPercent, "headroom in percent of usage and demand")
	flags.Int64Var(
		&c.knobs.Reserve, "reserve", pace.ReservePercent,
		"what the hub keeps of the slack, in percent, where requests may wait",
	)
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	c.parts = strings.Split(*chosen, ",")
	for _, part := range c.parts {
		if !slices.Contains(parts, part) {
			return c, fmt.Errorf("unknown part %q: have %s", part, strings.Join(parts, ", "))
		}
	}
	if c.loads, err = rig.Loads(*loads); err != nil {
		return c, err
	}
	for members := range strings.SplitSeq(*clusters, ",") {
		n, err := strconv.Atoi(members)
		if err != nil || n <= 0 {
			return c, fmt.Errorf("clusters %q is not a number above 0", members)
		}
		c.clusters = append(c.clusters, n)
	}
	return c, nil
}
