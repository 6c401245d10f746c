package main

import (
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

// What results from the traces has to name.
const (
	heliosSource = "Helios Earth, 16 virtual clusters, May 2020: S-Lab-System-Group/HeliosArtifact (MIT); Hu et al., SC '21"
	lcgSource    = "LCG grid 2005: Parallel Workloads Archive, log by Hui Li, converted by Dror Feitelson; " +
		"the 50 sites with the most work"
)

// helios measures GPU demand left pending. The static policy has the real quotas, which are the weights of the others.
func (c *config) helios() ([]row, error) {
	trace, err := workload.ReadHelios(c.traces)
	if err != nil {
		return nil, err
	}
	var budget int64
	for _, quota := range trace.Quotas {
		budget += quota
	}
	policies := []simulate.Policy{
		{Name: pooled, Pooled: true},
		{Name: static, Static: true},
		c.knobs.rounds("rounds every 5 min", 5*time.Minute),
		c.knobs.rounds("rounds every 1 min", time.Minute),
		c.knobs.asynchronous(),
	}
	results := play(trace.Load, simulate.Setup{Budget: budget, Weights: trace.Quotas, To: trace.For}, policies)
	return rows(policies, results, 0, trace.Load.Members, trace.For), nil
}

const (
	lcgSites = 50
	lcgLoad  = .7 // the budget as a part of what would be used at the peak
)

// lcg measures jobs refused although the budget had room, and work done.
func (c *config) lcg() ([]row, error) {
	load, err := workload.ReadLCG(c.traces, lcgSites)
	if err != nil {
		return nil, err
	}
	end := load.Requests[len(load.Requests)-1].At + time.Second
	policies := c.knobs.policies()
	results := play(load, simulate.Setup{Budget: int64(lcgLoad * float64(workload.PeakOf(load))), To: end}, policies)
	return rows(policies, results, 0, load.Members, end), nil
}

// steady measures limit writes under demand that does not change: of ten clusters, the first asks for one part of the
// budget and so on; once all of it fits, once it does not. What is damped has come to rest when the measurement begins.
func (c *config) steady() (all []row) {
	const clusters, budget, settled, measured = 10, 100_000, 5 * time.Minute, time.Hour
	policies := []simulate.Policy{{Name: pooled, Pooled: true}, c.knobs.asynchronous(), c.knobs.held()}
	for _, percent := range []int64{85, 120} {
		load := simulate.Load{Members: clusters}
		for i := range int64(clusters) {
			wants := budget * percent / 100 * (i + 1) / (clusters * (clusters + 1) / 2)
			load.Levels = append(load.Levels, simulate.Level{At: 10 * time.Second, Member: int(i), Wants: wants})
		}
		setup := simulate.Setup{Budget: budget, From: settled, To: settled + measured}
		all = append(all, rows(policies, play(load, setup, policies), float64(percent)/100, clusters, measured)...)
	}
	return all
}
