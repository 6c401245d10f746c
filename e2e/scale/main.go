// Scale measures a hub manager over many members: a real hub, the real program, and light members that serve HTTPS and
// answer as real ones do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// options say what is measured.
type options struct {
	size, budgets int
	mode          quotav1alpha1.RebalanceMode
	// manager is the file of the hub manager, bin/manager if empty. name is that of the run in tables and files.
	manager, name string
	// results is the folder of what is written.
	results string
	// phases are those to be run, all if empty.
	phases []string
	// patience is how long a phase may take to settle.
	patience time.Duration
	profile  bool
	// pooled says that the budgets are those of a tenant: a pool keeps them. Only so many members have the namespace of
	// each; all if it is 0.
	pooled bool
	in     int
	// kills is how often the hub manager is killed while it creates.
	kills int
	// memory is the limit of Go's memory in the hub manager.
	memory string
}

func main() {
	var o options
	var mode, phases string
	flag.IntVar(&o.size, "members", 100, "How many members.")
	flag.IntVar(&o.budgets, "budgets", 20, "How many budgets, each over all members, of four names.")
	flag.BoolVar(&o.pooled, "pool", false, "Have a QuotaPool keep the budgets, in namespaces that it selects.")
	flag.IntVar(&o.in, "in", 0, "With -pool, how many members have the namespace of each budget; all of them if it is 0.")
	flag.StringVar(&mode, "mode", "Static", "Mode of the budgets: Static or Auto.")
	flag.StringVar(&o.manager, "manager", "", "File of the hub manager; bin/manager if it is empty.")
	flag.StringVar(&o.name, "name", "", "Name of the run in tables and files.")
	flag.StringVar(&o.results, "results", filepath.Join("bin", "scale"), "Folder of results.")
	flag.StringVar(&phases, "phases", "", "Phases to run after creation, with commas between; all if it is empty.")
	flag.IntVar(&o.kills, "kills", 0, "How often to kill the hub manager while the budgets are created, at moments drawn at random.")
	flag.DurationVar(&o.patience, "patience", 10*time.Minute, "How long a phase may take to settle.")
	flag.StringVar(&o.memory, "memory", "920MiB",
		"Limit of Go's memory in the hub manager; by default what it makes of the limit of its container in config/default, 1Gi.")
	flag.BoolVar(&o.profile, "profile", false, "Save profiles of the hub manager.")
	flag.Parse()
	o.mode = quotav1alpha1.RebalanceMode(mode)
	if phases != "" {
		o.phases = strings.Split(phases, ",")
	}
	if o.name == "" {
		o.name = fmt.Sprintf("%dx%d-%s", o.size, o.budgets, strings.ToLower(mode))
	}
	log.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run measures all phases, and writes what they showed as it comes.
func run(ctx context.Context, o options) (err error) {
	if err := os.MkdirAll(o.results, 0o755); err != nil {
		return err
	}
	r, err := startRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	report := newReport(r)
	for _, p := range r.allPhases() {
		if len(o.phases) > 0 && p.optional && !slices.Contains(o.phases, p.name) {
			continue
		}
		progress("phase %s", p.name)
		row := r.measure(ctx, p)
		report.Rows = append(report.Rows, row)
		progress("%s: %s", p.name, row.outcome())
		if err := report.write(filepath.Join(o.results, o.name)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

var began = time.Now()

// progress tells of a step.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
