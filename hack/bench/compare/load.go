package main

import (
	"context"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/hack/bench/workload"
)

// patience is how long an owner goes on after the first refusal.
const patience = 5 * time.Second

// load is the draw of bench-live, shorter.
type load struct{ workload.Synthetic }

// requests are those of the load. The pods that are left when the last owner has given up end then.
func (l load) requests() []simulate.Request {
	requests := l.Load().Requests
	for i, request := range requests {
		requests[i].Life = min(request.Life, l.For+patience-request.At)
	}
	return requests
}

// loaded is what became of a load under a budget that stays.
type loaded struct {
	Pods int `json:"pods"` // that are counted
	// AdmittedIn1s and AdmittedIn5s are the pods that were admitted within a time of the first request.
	AdmittedIn1s int `json:"admittedIn1s"`
	AdmittedIn5s int `json:"admittedIn5s"`
	// InVain are the pods whose first request was refused although the budget had room.
	InVain  int         `json:"refusedAlthoughRoom"`
	Answers rig.Answers `json:"answers"`
	Above   above       `json:"above"`
}

// player plays a load on the members of the way: all that arrives comes to the one that there is, if it is one.
func (w *world) player(l load, budget int64) *rig.Player {
	p := rig.NewPlayer(namespace, l.requests(), time.Now())
	p.Patience, p.Budget = patience, budget
	for i := range members {
		p.Clients = append(p.Clients, w.Clients[w.members[i%len(w.members)]])
	}
	return p
}

func (w *world) load(ctx context.Context, l load, budget int64) (loaded, error) {
	watched, err := w.watch(ctx, budget)
	if err != nil {
		return loaded{}, err
	}
	defer watched.Stop()
	p := w.player(l, budget)
	if err := p.Play(ctx); err != nil {
		return loaded{}, err
	}
	counted := loaded{Answers: p.Answers(), Above: aboveOf(watched.Stop())}
	for i, request := range p.Requests {
		if request.At < workload.LiveWarmup {
			continue
		}
		played := p.Pods[i]
		counted.Pods++
		counted.AdmittedIn1s += one(played.AdmittedWithin(time.Second))
		counted.AdmittedIn5s += one(played.AdmittedWithin(patience))
		counted.InVain += one(played.InVain)
	}
	return counted, nil
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
