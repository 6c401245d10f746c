package web

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
)

// source holds what the hub has, as far as the caller may read it, and follows it.
type source struct {
	hub   client.WithWatch
	clock clock.PassiveClock
	live  live.Options
	// started is when the source began to follow the hub.
	started time.Time

	budgets, pools, told []*feed
	clusters, capacities []*feed
	memory               *memory
	archive              archive

	mutex    sync.Mutex
	watchers []chan struct{}
}

func newSource(hub client.WithWatch, clock clock.PassiveClock, live live.Options) *source {
	return &source{hub: hub, clock: clock, live: live, started: clock.Now(), memory: newMemory(clock)}
}

// start reads the hub, and follows it until the context ends. Without only, budgets are those of all namespaces, or of the
// one that is given if the caller may not list all.
func (s *source) start(ctx context.Context, namespace string, only bool) error {
	budgets := s.feed("FederatedQuotas", &quotav1alpha1.FederatedQuota{}, &quotav1alpha1.FederatedQuotaList{}, "")
	if only {
		budgets.namespace = namespace
	}
	if budgets.check(ctx); budgets.isHidden() && !only {
		all := budgets.said()
		budgets.namespace = namespace
		if budgets.check(ctx); !budgets.isHidden() {
			budgets.limited = all
		}
	}
	if budgets.err != nil {
		return cli.Served(budgets.err)
	}
	s.budgets = []*feed{budgets}
	s.pools = []*feed{s.feed("QuotaPools", &quotav1alpha1.QuotaPool{}, &quotav1alpha1.QuotaPoolList{}, "")}
	s.told = []*feed{s.feed("events", &corev1.Event{}, &corev1.EventList{}, budgets.namespace)}
	s.told[0].fields = client.MatchingFields{"involvedObject.kind": "FederatedQuota"}
	for _, of := range s.live.Clusters.All() {
		s.clusters = append(s.clusters, s.feed("Clusters", &clusterv1.Cluster{}, &clusterv1.ClusterList{}, of))
		s.capacities = append(s.capacities, s.feed("ClusterCapacities", &quotav1alpha1.ClusterCapacity{}, &quotav1alpha1.ClusterCapacityList{}, of))
	}
	budgets.seen, s.told[0].seen = s.memory.see, s.memory.hear
	for _, f := range s.feeds() {
		if f != budgets {
			f.check(ctx)
		}
		if f.err == nil {
			f.follow(ctx)
		}
	}
	return nil
}

// feeds are all there are.
func (s *source) feeds() []*feed {
	return slices.Concat(s.budgets, s.pools, s.told, s.clusters, s.capacities)
}

// lost says whether the hub would not let the caller read any more what it holds.
func (s *source) lost(ctx context.Context) bool {
	return slices.ContainsFunc(s.feeds(), func(f *feed) bool { return f.informer != nil && f.isRefused(ctx) })
}

// subscribe returns where it is told that something has changed, and how to end that.
func (s *source) subscribe() (changed <-chan struct{}, forget func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	watcher := make(chan struct{}, 1)
	s.watchers = append(s.watchers, watcher)
	return watcher, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(w chan struct{}) bool { return w == watcher })
	}
}

// tell tells all who have subscribed that something has changed.
func (s *source) tell() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, watcher := range s.watchers {
		select {
		case watcher <- struct{}{}:
		default: // it has been told, and has not looked yet
		}
	}
}
