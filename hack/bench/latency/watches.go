package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// state is what the watches have seen last, of CPUs in thousandths.
type state struct {
	at      time.Time
	granted map[string]int64 // by the ledger
	members map[string]memberState
}

type memberState struct {
	told, demand, reported, stated int64 // by the share: the limit told, the demand, and the limit and the usage reported
	hard, used                     int64 // by the ResourceQuota, in force
}

// free is what the ledger could grant at once.
func (s *state) free() int64 {
	free := int64(budget)
	for _, granted := range s.granted {
		free -= granted
	}
	return free
}

// atRest says whether nothing is used, asked for or on its way. A report of usage alone may be on its way for a second:
// until then the hub takes nothing from whoever has just become idle.
func (s *state) atRest() bool {
	for name, m := range s.members {
		if m.used != 0 || m.stated != 0 || m.demand != 0 || m.told != m.hard || m.reported != m.hard ||
			s.granted[name] != m.hard {
			return false
		}
	}
	return len(s.members) == 2
}

// watches follow the ledger, and the shares and ResourceQuotas of the members, each by an own watch.
type watches struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex  sync.Mutex
	states []state // the oldest first
}

// watchAll begins to follow.
func watchAll(ctx context.Context, r *rig.Rig, members []string) (*watches, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watches{cancel: cancel, states: []state{{granted: map[string]int64{}, members: map[string]memberState{}}}}
	err := w.follow(ctx, r.HubClient, &quotav1alpha1.FederatedQuotaList{}, func(object any, s *state) {
		for _, c := range object.(*quotav1alpha1.FederatedQuota).Status.Clusters {
			s.granted[string(c.Name)] = milli(c.Granted)
		}
	})
	for _, name := range members {
		if err == nil {
			err = w.followMember(ctx, r.Clients[name], name)
		}
	}
	if err != nil {
		w.stop()
	}
	return w, err
}

func (w *watches) followMember(ctx context.Context, c client.WithWatch, name string) error {
	err := w.follow(ctx, c, &quotav1alpha1.QuotaShareList{}, func(object any, s *state) {
		share, m := object.(*quotav1alpha1.QuotaShare), s.members[name]
		m.told, m.demand = milli(share.Spec.Hard), milli(share.Status.Demand)
		m.reported, m.stated = milli(share.Status.Hard), milli(share.Status.Used)
		if share.Status.Revision != share.Spec.Revision {
			m.reported = -1
		}
		s.members[name] = m
	})
	if err != nil {
		return err
	}
	return w.follow(ctx, c, &corev1.ResourceQuotaList{}, func(object any, s *state) {
		quota, m := object.(*corev1.ResourceQuota), s.members[name]
		m.hard, m.used = min(milli(quota.Spec.Hard), milli(quota.Status.Hard)), milli(quota.Status.Used)
		s.members[name] = m
	})
}

func milli(list corev1.ResourceList) int64 {
	quantity := list[rig.CPU]
	return quantity.MilliValue()
}

// follow notes every version of the objects of a kind.
func (w *watches) follow(
	ctx context.Context, c client.WithWatch, list client.ObjectList, take func(object any, s *state),
) error {
	events, err := c.Watch(ctx, list, client.InNamespace(team))
	if err != nil {
		return err
	}
	w.running.Go(func() {
		defer events.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-events.ResultChan():
				if !open {
					return
				}
				if event.Type == watch.Added || event.Type == watch.Modified {
					w.add(event.Object, take)
				}
			}
		}
	})
	return nil
}

func (w *watches) add(object any, take func(object any, s *state)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last := w.states[len(w.states)-1]
	next := state{at: time.Now(), granted: maps.Clone(last.granted), members: maps.Clone(last.members)}
	take(object, &next)
	w.states = append(w.states, next)
}

func (w *watches) stop() {
	w.cancel()
	w.running.Wait()
}

// now returns what was seen last.
func (w *watches) now() state {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.states[len(w.states)-1]
}

// since returns when each stage of a request was seen first, once all have been.
func (w *watches) since(
	ctx context.Context, began time.Time, asks, gives string, size int64, donor bool,
) (map[string]time.Time, error) {
	before := w.before(began).members[gives].hard
	stages := map[string]func(s *state) bool{
		stageDemand:  func(s *state) bool { return s.members[asks].demand > 0 },
		stageLedger:  func(s *state) bool { return s.granted[asks] >= size },
		stageShare:   func(s *state) bool { return s.members[asks].told >= size },
		stageInForce: func(s *state) bool { return s.members[asks].hard >= size },
	}
	if donor {
		stages[stageTaken] = func(s *state) bool { return s.members[gives].told < before }
		stages[stageLowered] = func(s *state) bool { return s.members[gives].hard < before }
		stages[stageReturned] = func(s *state) bool {
			return s.members[gives].reported >= 0 && s.members[gives].reported < before
		}
	}
	seen := map[string]time.Time{}
	err := rig.Until(ctx, fmt.Sprintf("the stages of a request in %s", asks), func(context.Context) (bool, error) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		for what, reached := range stages {
			if _, done := seen[what]; done {
				continue
			}
			for i := range w.states {
				if s := &w.states[i]; s.at.After(began) && reached(s) {
					seen[what] = s.at
					break
				}
			}
		}
		return len(seen) == len(stages), nil
	})
	return seen, err
}

// before returns what had been seen at a time.
func (w *watches) before(at time.Time) (last state) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, s := range w.states {
		if s.at.After(at) {
			break
		}
		last = s
	}
	return last
}
