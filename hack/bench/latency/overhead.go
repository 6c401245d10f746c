package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// latency is how long requests took, in milliseconds.
type latency struct {
	What          string `json:"what"`
	P50, P90, P99 float64
}

// added is by how much requests of one kind took longer than those of another, made right after each other: the median
// of the differences, in milliseconds.
type added struct {
	What string  `json:"what"`
	P50  float64 `json:"p50"`
}

// The kinds of namespaces. The second native one shows what the measurement itself can tell apart.
const (
	native   = "native quota"
	control  = "native quota, again"
	idle     = "native quota, and a webhook that allows all"
	off      = "share, admission Off"
	hold     = "share, admission Hold"
	manyCPUs = "10000"

	addedByNoise   = "native quota, again, over native quota"
	addedByCall    = "the call of any webhook: one that allows all, over native quota"
	addedByFence   = "the fence, and the agent in the background: Off over native quota"
	addedByWebhook = "the webhook: Hold over Off"
	addedByBoth    = "Hold over native quota"
)

// kinds are the namespaces by kind, in the order of the table.
var kinds = []struct{ kind, namespace string }{
	{native, "native"}, {control, "control"}, {idle, "idle"}, {off, "off"}, {hold, "hold"},
}

// overhead measures requests that fit, made by turns in namespaces of all kinds.
func overhead(ctx context.Context, r *rig.Rig, rounds int) ([]latency, []added, error) {
	members := []string{east, west}
	for _, namespace := range []string{"native", "control", "idle"} {
		if err := r.Native(ctx, east, namespace, manyCPUs); err != nil {
			return nil, nil, err
		}
	}
	server, err := idleWebhook(ctx, r, east, "idle")
	if err != nil {
		return nil, nil, err
	}
	defer server.Close()
	if err := r.Share(
		ctx, "off", manyCPUs, members, quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionOff},
	); err != nil {
		return nil, nil, err
	}
	if err := r.Share(ctx, "hold", manyCPUs, members, quotav1alpha1.Admission{}); err != nil {
		return nil, nil, err
	}
	took := map[string][]time.Duration{}
	order := rand.New(rand.NewPCG(1, 0))
	for round := range rounds {
		for _, turn := range order.Perm(len(kinds)) { // what a request sets off burdens the next one, of whatever kind
			k := kinds[turn]
			began := time.Now()
			if err := r.Clients[east].Create(ctx, rig.Pod(k.namespace, fmt.Sprintf("pod-%d", round), "1m")); err != nil {
				return nil, nil, err
			}
			took[k.kind] = append(took[k.kind], time.Since(began))
		}
	}
	var table []latency
	for _, k := range kinds {
		at := func(percent int) float64 { return rig.Millis(rig.Percentile(took[k.kind], percent)) }
		table = append(table, latency{What: k.kind, P50: at(50), P90: at(90), P99: at(99)})
	}
	return table, []added{
		differences(addedByNoise, took[control], took[native]),
		differences(addedByCall, took[idle], took[native]),
		differences(addedByFence, took[off], took[native]),
		differences(addedByWebhook, took[hold], took[off]),
		differences(addedByBoth, took[hold], took[native]),
	}, nil
}

// differences compares requests of the same rounds.
func differences(what string, took, than []time.Duration) added {
	more := make([]time.Duration, len(took))
	for i := range took {
		more[i] = took[i] - than[i]
	}
	return added{What: what, P50: rig.Millis(rig.Percentile(more, 50))}
}
