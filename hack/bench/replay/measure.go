package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

// report is all that was measured. Amounts of time are in nanoseconds where not said otherwise.
type report struct {
	Latencies simulate.Latencies `json:"latenciesNanoseconds"`
	Knobs     knobs              `json:"knobs"`
	Sources   []string           `json:"sources"`
	Skipped   []string           `json:"skipped,omitempty"`
	Synthetic []row              `json:"synthetic,omitempty"`
	Tree      []row              `json:"tree,omitempty"`
	Patient   []patientRow       `json:"patient,omitempty"`
	Steady    []row              `json:"steady,omitempty"`
	Helios    []row              `json:"helios,omitempty"`
	LCG       []row              `json:"lcg,omitempty"`
	Targets   []rig.Target       `json:"targets"`
}

// row is one policy on one load.
type row struct {
	Policy   string  `json:"policy"`
	Load     float64 `json:"load,omitempty"`
	Clusters int     `json:"clusters"`
	// Requests were made; Admitted is the part of them that was admitted at the first attempt.
	Requests int     `json:"requests,omitempty"`
	Admitted float64 `json:"admitted,omitempty"`
	// OfPooled and WorkOfPooled compare with pooled: requests, and size × time.
	OfPooled     float64 `json:"ofPooled,omitempty"`
	WorkOfPooled float64 `json:"workOfPooled,omitempty"`
	// FalseDenials is the part of the requests that was refused while the budget had room.
	FalseDenials float64 `json:"falseDenials"`
	// Pending is the part of the demand that was unmet, in units × time.
	Pending float64 `json:"pending"`
	// Writes is what the hub delivered, in shares per cluster and minute.
	Writes float64 `json:"writesPerClusterMinute"`
	// Lowered and Lifted are those of them that lowered a limit, and that raised one of a cluster that lacked nothing.
	Lowered float64 `json:"loweredPerClusterMinute"`
	Lifted  float64 `json:"liftedPerClusterMinute"`
	// WaitP50 and WaitP99 are of those that were held and then admitted.
	WaitP50 time.Duration `json:"waitP50,omitempty"`
	WaitP99 time.Duration `json:"waitP99,omitempty"`
	// Over is the most that limits and usage were above the budget, in its unit.
	Over int64 `json:"over"`
}

// measure does the parts that were asked for and can be done.
func (c *config) measure() (*report, error) {
	r := &report{Latencies: simulate.Default, Knobs: c.knobs}
	for _, part := range parts {
		if !slices.Contains(c.parts, part) {
			continue
		}
		if err := r.measurePart(c, part); err != nil {
			return nil, fmt.Errorf("%s: %w", part, err)
		}
	}
	r.Targets = r.compare()
	return r, nil
}

// measurePart does one part, or says why not.
func (r *report) measurePart(c *config, part string) (err error) {
	switch part {
	case "synthetic":
		r.Sources = append(r.Sources, fmt.Sprintf("synthetic cells: %d draws each, seeds from %d", c.seeds, c.seed))
		r.Synthetic = c.synthetic()
		return nil
	case "tree":
		r.Sources = append(r.Sources, fmt.Sprintf(
			"a tree of 3 teams of 4 namespaces of 5 clusters: %d draws each, seeds from %d", c.seeds, c.seed))
		r.Tree = c.tree()
		return nil
	case "patient":
		r.Sources = append(r.Sources, fmt.Sprintf(
			"the load of bench-live, whose owners ask again for a minute: %d draws each, seeds from %d", c.seeds, c.seed))
		r.Patient = c.patient()
		return nil
	case "steady":
		r.Sources = append(r.Sources, "steady demand: constant, below and above the budget")
		r.Steady = c.steady()
		return nil
	}
	if !isFolder(c.traces) {
		r.Skipped = append(
			r.Skipped, fmt.Sprintf("%s: no folder with the traces; name it by --traces or FEDQUOTA_TRACES", part),
		)
		return nil
	}
	if part == "helios" {
		r.Sources = append(r.Sources, heliosSource)
		r.Helios, err = c.helios()
		return err
	}
	r.Sources = append(r.Sources, lcgSource)
	r.LCG, err = c.lcg()
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// each runs the tasks on all processors.
func each(tasks int, run func(task int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for task := range tasks {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			run(task)
		})
	}
	wait.Wait()
}

// play plays one load under several policies.
func play(load simulate.Load, setup simulate.Setup, policies []simulate.Policy) []simulate.Result {
	results := make([]simulate.Result, len(policies))
	setup.Latencies = simulate.Default
	each(len(policies), func(i int) {
		own := setup
		own.Policy = policies[i]
		results[i] = simulate.Run(load, own)
	})
	return results
}

// warmup is how long a drawn load runs before anything is counted.
const warmup = 30 * time.Minute

// synthetic measures the cells. The draws of a cell are added up.
func (c *config) synthetic() (rows []row) {
	for _, load := range c.loads {
		for _, clusters := range c.clusters {
			rows = append(rows, c.cell(load, clusters)...)
		}
	}
	return rows
}

// tree measures the loads of the cells over clusters of many namespaces: as one budget, and as a tree of pools.
func (c *config) tree() (rows []row) {
	const clusters = 3 * 4 * 5
	for _, load := range c.loads {
		rows = append(rows, c.cellOf(load, clusters, []simulate.Policy{
			{Name: pooled, Pooled: true}, {Name: static, Static: true}, c.knobs.held(), c.knobs.heldInTree(),
		})...)
	}
	return rows
}

// cell measures one cell.
func (c *config) cell(load float64, clusters int) []row {
	return c.cellOf(load, clusters, c.knobs.policies())
}

func (c *config) cellOf(load float64, clusters int, policies []simulate.Policy) []row {
	sums := make([]simulate.Result, len(policies))
	var measured time.Duration
	for seed := range c.seeds {
		drawn := workload.Bursty(clusters, c.seed+int64(seed))
		results := play(drawn.Load(), simulate.Setup{
			Budget: int64(drawn.Mean() / load), From: warmup, To: drawn.For,
		}, policies)
		measured += drawn.For - warmup
		for i := range results {
			sums[i].Add(results[i])
		}
	}
	return rows(policies, sums, load, clusters, measured)
}

// rows describes the results of one load, of which the first is that of the pooled policy.
func rows(
	policies []simulate.Policy, results []simulate.Result, load float64, clusters int, measured time.Duration,
) []row {
	rows := make([]row, len(results))
	perClusterMinute := func(writes int) float64 { return float64(writes) / float64(clusters) / measured.Minutes() }
	for i, r := range results {
		rows[i] = row{
			Policy:       policies[i].Name,
			Load:         load,
			Clusters:     clusters,
			Requests:     r.Requests,
			Admitted:     ratio(float64(r.Admitted), float64(r.Requests)),
			OfPooled:     ratio(float64(r.Admitted), float64(results[0].Admitted)),
			WorkOfPooled: ratio(r.WorkDone, results[0].WorkDone),
			FalseDenials: ratio(float64(r.FalseDenials), float64(r.Requests)),
			Pending:      ratio(r.Pending, r.Wanted),
			Writes:       perClusterMinute(r.Writes),
			Lowered:      perClusterMinute(r.Lowered),
			Lifted:       perClusterMinute(r.Lifted),
			WaitP50:      rig.Percentile(r.Waits, 50),
			WaitP99:      rig.Percentile(r.Waits, 99),
			Over:         r.Over,
		}
	}
	return rows
}

// ratio is a/b, and 0 if there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
