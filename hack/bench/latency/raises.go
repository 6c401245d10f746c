package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	team = "team-a"
	// budget is what both members share, in thousandths of a CPU.
	budget = 1_000_000
	// step is by how much a request exceeds the limit where the hub shall raise it out of what is free.
	step = 100
)

// raises are requests of one kind that did not fit.
type raises struct {
	Name     string  `json:"name"`
	Requests int     `json:"requests"`
	Refused  int     `json:"refused"`
	Stages   []stage `json:"stages"`
}

// stage says when something was seen after the request was made, in milliseconds.
type stage struct {
	What string `json:"what"`
	P50  float64
	P99  float64
}

// inForce is the stage in which the limit is raised.
func (r *raises) inForce() stage {
	for _, s := range r.Stages {
		if s.What == stageInForce {
			return s
		}
	}
	return stage{}
}

// The stages, in their order.
const (
	stageDemand   = "the member's share states the demand"
	stageTaken    = "the donor's share is lowered"
	stageLowered  = "the donor's limit is lowered"
	stageReturned = "the donor's share reports it"
	stageLedger   = "the ledger grants it"
	stageShare    = "the member's share is raised"
	stageInForce  = "the raised limit is in force"
	stageAnswer   = "the request is answered"
)

// measureRaises measures raises out of free budget, and such as need a donor.
func measureRaises(ctx context.Context, r *rig.Rig, requests int) ([]raises, error) {
	members := []string{east, west}
	if err := r.Share(
		ctx, team, cpus(budget).String(), members, quotav1alpha1.Admission{WaitMilliseconds: new(int32(2000))},
	); err != nil {
		return nil, err
	}
	watches, err := watchAll(ctx, r, members)
	if err != nil {
		return nil, err
	}
	defer watches.stop()
	free := raises{Name: "out of free budget"}
	donor := raises{Name: "with a donor"}
	for _, kind := range []*raises{&free, &donor} {
		took := map[string][]time.Duration{}
		for n := range requests {
			b := bench{Rig: r, watches: watches, asks: east, gives: west}
			if kind == &donor {
				b.asks, b.gives, b.donor = members[n%2], members[1-n%2], true
			}
			admitted, err := b.request(ctx, fmt.Sprintf("pod-%d", n), took)
			if err != nil {
				return nil, fmt.Errorf("%s, request %d: %w", kind.Name, n, err)
			}
			kind.Requests++
			if !admitted {
				kind.Refused++
			}
		}
		for _, what := range []string{
			stageDemand, stageTaken, stageLowered, stageReturned, stageLedger, stageShare, stageInForce, stageAnswer,
		} {
			if times := took[what]; len(times) > 0 {
				kind.Stages = append(
					kind.Stages, stage{what, rig.Millis(rig.Percentile(times, 50)), rig.Millis(rig.Percentile(times, 99))},
				)
			}
		}
	}
	return []raises{free, donor}, nil
}

// bench makes one request that does not fit.
type bench struct {
	*rig.Rig
	watches     *watches
	asks, gives string
	donor       bool
}

// request makes the request when all is at rest, and adds when which stage was seen. Refused requests count for no
// stage.
func (b *bench) request(ctx context.Context, name string, took map[string][]time.Duration) (admitted bool, err error) {
	var rest state
	err = rig.Until(ctx, "all to be at rest", func(context.Context) (bool, error) {
		rest = b.watches.now()
		return rest.atRest(), nil
	})
	if err != nil {
		return false, err
	}
	size := rest.members[b.asks].hard + step
	if b.donor {
		size = budget - rest.members[b.gives].hard/10 // more than is free beside the donor's limit
	}
	if enough := rest.free() >= size-rest.members[b.asks].hard; enough == b.donor {
		return false, fmt.Errorf("%d free for a request of %d by %s, with %+v", rest.free(), size, b.asks, rest.members)
	}
	pod := rig.Pod(team, name, cpus(size).String())
	began := time.Now()
	err = b.Clients[b.asks].Create(ctx, pod)
	answered := time.Now()
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	seen, err := b.watches.since(ctx, began, b.asks, b.gives, size, b.donor)
	if err != nil {
		return true, err
	}
	seen[stageAnswer] = answered
	for what, at := range seen {
		took[what] = append(took[what], at.Sub(began))
	}
	return true, client.IgnoreNotFound(b.Clients[b.asks].Delete(ctx, pod))
}

func cpus(milli int64) *resource.Quantity {
	return resource.NewMilliQuantity(milli, resource.DecimalSI)
}
