// Compare puts the same load on the same members under four ways to limit a namespace: fedquota, Karmada's
// FederatedResourceQuota with static assignments, ResourceQuotas that somebody writes into each member, and one pool, a
// single control plane with the whole budget. Each way is measured by itself, on a fleet of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

func main() { rig.Main("compare", run) }

const (
	namespace = "load"
	// pods are how many would run on average if none were refused.
	pods = 100
)

var members = []string{"east", "west", "north"}

// starts has what starts each way on a fleet of its own.
var starts = map[string]func(context.Context, *world) (way, error){
	"fedquota": startFedquota,
	"karmada":  startKarmada,
	"static":   startStatic,
	"pool":     startPool,
}

// way is one way to limit the namespace.
type way interface {
	// create limits the namespace, and returns when all limits are in force.
	create(ctx context.Context, split split) error
	// change writes what a user writes for another split, and returns when that is written. What has it come into force
	// goes on, until the context ends.
	change(ctx context.Context, split split) error
}

// split is a budget in thousandths of a CPU, and the weight of each member's part of it.
type split struct {
	budget  int64
	weights []int64
}

func equal(budget int64) split { return split{budget: budget, weights: []int64{1, 1, 1}} }

// parts are the budget's, by member.
func (s split) parts() []int64 {
	var sum int64
	for _, weight := range s.weights {
		sum += weight
	}
	parts := make([]int64, len(s.weights))
	for i, weight := range s.weights {
		parts[i] = s.budget * weight / sum
	}
	return parts
}

func milli(amount int64) string { return fmt.Sprintf("%dm", amount) }

// result is what was measured of one way.
type result struct {
	Machine rig.Machine `json:"machine"`
	Load    string      `json:"load"`
	Budget  int64       `json:"budgetMilliCPU"`
	loaded
	Changes changes `json:"changes"`
	InForce inForce `json:"inForce"`
	Cost    cost    `json:"cost"`
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	name := flags.String("way", "", "the way to measure, of "+strings.Join(slices.Sorted(maps.Keys(starts)), ", ")+
		"; without it, print what was measured of all")
	part := flags.Float64("load", .85, "part of the budget that the requests would use on average")
	length := flags.Duration("length", 40*time.Second, "how long pods arrive that are counted")
	seed := flags.Int64("seed", 1, "seed of the draws")
	brief := flags.Bool("brief", false, "print only what the README shows")
	folder := flags.String("folder", filepath.Join("bin", "bench", "compare"), "folder for the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" {
		results, err := readAll(*folder)
		if err != nil {
			return err
		}
		if *brief {
			return printBrief(out, results)
		}
		return printTables(out, results)
	}
	start, ok := starts[*name]
	if !ok {
		return fmt.Errorf("no way is named %q", *name)
	}
	r, err := measure(ctx, *name, start, load{workload.Live(len(members), pods, *length, *seed)}, *part)
	if err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	return rig.Write(filepath.Join(*folder, *name+".json"), r)
}

// measure starts a fleet with a way on it, measures and ends the fleet.
func measure(
	ctx context.Context, name string, start func(context.Context, *world) (way, error), drawn load, part float64,
) (r result, err error) {
	r = result{Machine: rig.ThisMachine(), Load: drawn.String(), Budget: drawn.BudgetOf(drawn.requests(), part)}
	w := &world{name: name, members: members}
	chosen, err := start(ctx, w)
	defer func() { err = errors.Join(err, w.end()) }()
	if err != nil {
		return r, err
	}
	// What a way does in the background ends before its fleet.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := chosen.create(ctx, equal(r.Budget)); err != nil {
		return r, err
	}
	w.progress("the load")
	before := w.cost()
	if r.loaded, err = w.load(ctx, drawn, r.Budget); err != nil {
		return r, err
	}
	w.progress("the changes")
	if r.Changes, err = w.change(ctx, chosen, drawn, r.Budget); err != nil {
		return r, err
	}
	r.Cost = w.cost().since(before)
	w.progress("changes at rest")
	r.InForce, err = w.inForce(ctx, chosen, r.Budget)
	return r, err
}

// readAll reads what was measured of all ways.
func readAll(folder string) (map[string]result, error) {
	results := map[string]result{}
	for name := range starts {
		data, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		results[name] = r
	}
	return results, nil
}
