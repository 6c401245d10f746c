package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/internal/ledger"
)

// state is what the watches have seen last, of CPUs in thousandths.
type state struct {
	at     time.Time
	seats  map[seat]seatState
	quotas map[string]quotaState // by namespace, of those that are in pools
}

type seatState struct {
	granted                        int64 // by the ledger
	told, demand, reported, stated int64 // by the share: the limit told, the demand, and the limit and the usage reported
	hard, used                     int64 // by the ResourceQuota, in force
}

type quotaState struct {
	used, demand, limit int64 // by itself: the usage, the demand, and what its pool gives, as far as it knows
	granted, target     int64 // by the ledger of its pool
	seen                int64 // its usage, as its pool knows it
}

// parts are what the two of a kind may have: limits of members, or parts of a pool.
func (s *state) parts(seats [2]seat, pool string) map[seat]int64 {
	parts := map[seat]int64{}
	for _, seat := range seats {
		parts[seat] = s.seats[seat].hard
		if pool != "" {
			parts[seat] = s.quotas[seat.namespace].granted
		}
	}
	return parts
}

// atRest says whether nothing is used, asked for or on its way. A report of usage alone may be on its way for a second:
// until then the hub takes nothing from whoever has just become idle.
func (s *state) atRest(seats [2]seat, pool string) bool {
	for _, seat := range seats {
		m, q := s.seats[seat], s.quotas[seat.namespace]
		if !m.atRest() || pool != "" && !q.atRest() {
			return false
		}
	}
	return s.seats[seats[0]].granted > 0
}

func (m *seatState) atRest() bool {
	return m.used == 0 && m.stated == 0 && m.demand == 0 && m.told == m.hard && m.reported == m.hard && m.granted == m.hard
}

func (q *quotaState) atRest() bool {
	return q.used == 0 && q.demand == 0 && q.seen == 0 && q.granted == q.target && q.granted == q.limit
}

// watches follow the ledgers, and the shares and ResourceQuotas of the members, each by an own watch.
type watches struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex  sync.Mutex
	states []state // the oldest first
}

// watchAll begins to follow.
func watchAll(ctx context.Context, r *rig.Rig, members []string) (*watches, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watches{cancel: cancel, states: []state{{seats: map[seat]seatState{}, quotas: map[string]quotaState{}}}}
	err := w.followHub(ctx, r.HubClient)
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

func (w *watches) followHub(ctx context.Context, c client.WithWatch) error {
	err := w.follow(ctx, c, &quotav1alpha1.FederatedQuotaList{}, func(object any, s *state) {
		fq := object.(*quotav1alpha1.FederatedQuota)
		for _, c := range fq.Status.Clusters {
			at := seat{fq.Namespace, string(c.Name)}
			m := s.seats[at]
			m.granted = milli(c.Granted)
			s.seats[at] = m
		}
		q := s.quotas[fq.Namespace]
		q.used, q.demand, q.limit = milli(fq.Status.Used), milli(fq.Status.Demand), milli(fq.Status.Hard)
		s.quotas[fq.Namespace] = q
	})
	if err != nil {
		return err
	}
	return w.follow(ctx, c, &quotav1alpha1.QuotaPoolList{}, func(object any, s *state) {
		for _, c := range object.(*quotav1alpha1.QuotaPool).Status.Children {
			namespace := strings.Split(string(c.Key), "/")[1]
			q := s.quotas[namespace]
			e := ledger.EntryOf(c.Revision, c.Granted, c.Target)
			q.granted, q.target, q.seen = e.Granted[rig.CPU], e.Target[rig.CPU], milli(c.Used)
			s.quotas[namespace] = q
		}
	})
}

func (w *watches) followMember(ctx context.Context, c client.WithWatch, name string) error {
	err := w.follow(ctx, c, &quotav1alpha1.QuotaShareList{}, func(object any, s *state) {
		share := object.(*quotav1alpha1.QuotaShare)
		at := seat{share.Namespace, name}
		m := s.seats[at]
		m.told, m.demand = milli(share.Spec.Hard), milli(share.Status.Demand)
		m.reported, m.stated = milli(share.Status.Hard), milli(share.Status.Used)
		if share.Status.Revision != share.Spec.Revision {
			m.reported = -1
		}
		s.seats[at] = m
	})
	if err != nil {
		return err
	}
	return w.follow(ctx, c, &corev1.ResourceQuotaList{}, func(object any, s *state) {
		quota := object.(*corev1.ResourceQuota)
		at := seat{quota.Namespace, name}
		m := s.seats[at]
		m.hard, m.used = min(milli(quota.Spec.Hard), milli(quota.Status.Hard)), milli(quota.Status.Used)
		s.seats[at] = m
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
	events, err := c.Watch(ctx, list)
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
	next := state{at: time.Now(), seats: maps.Clone(last.seats), quotas: maps.Clone(last.quotas)}
	take(object, &next)
	w.states = append(w.states, next)
}

func (w *watches) stop() {
	w.cancel()
	w.running.Wait()
}

// forget forgets all but what was seen last.
func (w *watches) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.states = slices.Clone(w.states[len(w.states)-1:])
}

// now returns what was seen last.
func (w *watches) now() state {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.states[len(w.states)-1]
}

// since returns when each stage of a request was seen first, once all have been.
func (w *watches) since(
	ctx context.Context, began time.Time, stages map[string]func(*state) bool,
) (map[string]time.Time, error) {
	seen := map[string]time.Time{}
	err := rig.Until(ctx, "the stages of a request", func(context.Context) (bool, error) {
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
