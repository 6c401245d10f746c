package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

// patientRow is one policy on one load whose owners ask again for a minute. What was admitted within a time of the
// first attempt is compared with pooled.
type patientRow struct {
	Policy string  `json:"policy"`
	Load   float64 `json:"load"`
	Second float64 `json:"admittedWithin1s"`
	Five   float64 `json:"admittedWithin5s"`
	Minute float64 `json:"admittedWithin1m"`
	Writes float64 `json:"writesPerClusterMinute"`
	Over   int64   `json:"over"`
}

// The load of bench-live, as it is by default.
const (
	patience       = time.Minute
	patientMembers = 3
	patientPods    = 100
	patientLength  = 3 * time.Minute
)

// patient measures how soon those are admitted who ask again, and what of that the order of who waits makes, and what
// the latencies.
func (c *config) patient() (rows []patientRow) {
	held := c.knobs.held()
	late := held
	late.Name = slow
	policies := []simulate.Policy{{Name: pooled, Pooled: true}, c.knobs.inOrder(), held, late}
	for _, load := range c.loads {
		sums := make([]simulate.Result, len(policies))
		each(len(policies), func(i int) {
			latencies := simulate.Default
			if policies[i].Name == slow {
				latencies = latencies.Times(8)
			}
			for seed := range c.seeds {
				drawn := workload.Live(patientMembers, patientPods, patientLength, c.seed+int64(seed))
				requests := drawn.Load()
				sums[i].Add(simulate.Run(requests, simulate.Setup{
					Policy: policies[i], Latencies: latencies,
					Budget: drawn.BudgetOf(requests.Requests, load), Patience: patience,
					From: workload.LiveWarmup, To: drawn.For + patience,
				}))
			}
		})
		for i := range sums {
			rows = append(rows, patientRowOf(policies[i].Name, load, &sums[i], &sums[0], c.seeds))
		}
	}
	return rows
}

func patientRowOf(policy string, load float64, r, pooled *simulate.Result, draws int) patientRow {
	within := func(d time.Duration) float64 { return ratio(float64(r.Within(d)), float64(pooled.Within(d))) }
	minutes := float64(draws) * (patientLength + patience).Minutes()
	return patientRow{
		Policy: policy, Load: load, Second: within(time.Second), Five: within(5 * time.Second), Minute: within(patience),
		Writes: float64(r.Writes) / patientMembers / minutes, Over: r.Over,
	}
}

func (r *report) printPatient(w *strings.Builder) {
	if len(r.Patient) == 0 {
		return
	}
	fmt.Fprintf(w, "\nasked for a minute: ÷ pooled\tload\twithin 1 s\twithin 5 s\twithin 1 min\twrites\n")
	for _, row := range r.Patient {
		fmt.Fprintf(w, "%s\t%.2f\t%.3f\t%.3f\t%.3f\t%.2f\n",
			row.Policy, row.Load, row.Second, row.Five, row.Minute, row.Writes)
	}
}
