package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	loadLabel = "load"
	// writers is how many write into each member.
	writers = 4
	// loadPod is what each pod of the load asks for: as many fit by cpu as by pods, in the sample.
	loadPod = "500m"
)

// storm is writers who create and delete pods in one member as fast as its API servers answer. They fill whatever limit is
// in force: refused, they delete one and try again.
type storm struct {
	namespace string
	clients   []client.WithWatch
	cancel    context.CancelFunc
	running   sync.WaitGroup
	// idle lets them delete all they have and wait.
	idle atomic.Bool

	created, refused, deleted, failed atomic.Int64
}

// storm starts writers in members, all of them if none is named.
func (s *scenario) storm(members ...string) {
	s.Helper()
	if len(members) == 0 {
		members = s.names()
	}
	for _, member := range members {
		ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
		load := &storm{namespace: s.key.Namespace, clients: s.members[member], cancel: cancel}
		for i := range writers {
			load.running.Go(func() { load.write(ctx, i) })
		}
		s.storms = append(s.storms, load)
		s.result.Load.Writers += writers
	}
	// A load that does nothing proves nothing.
	s.eventually("load", func(context.Context) error {
		for _, load := range s.storms {
			if load.created.Load()+load.refused.Load()+load.failed.Load() == 0 {
				return fmt.Errorf("a writer has not begun")
			}
		}
		return nil
	})
}

func (l *storm) write(ctx context.Context, writer int) {
	var own []*corev1.Pod
	for n := 0; ctx.Err() == nil; n++ {
		c := l.clients[(writer+n)%len(l.clients)]
		if l.idle.Load() {
			own = slices.DeleteFunc(own, func(pod *corev1.Pod) bool { return l.delete(ctx, c, pod) })
			pause(ctx, pollInterval)
			continue
		}
		pod := newPod(l.namespace, fmt.Sprintf("load-%d-%d-%d", writer, n, rand.Int32()), loadPod)
		pod.Labels = map[string]string{loadLabel: "true"}
		err := c.Create(ctx, pod)
		switch {
		case err == nil:
			l.created.Add(1)
			own = append(own, pod)
		case apierrors.IsForbidden(err):
			l.refused.Add(1)
		default:
			l.failed.Add(1)
		}
		if len(own) > 0 && (err != nil || rand.IntN(4) == 0) {
			if l.delete(ctx, c, own[0]) {
				own = own[1:]
			}
		}
	}
}

func (l *storm) delete(ctx context.Context, c client.Client, pod *corev1.Pod) bool {
	if c.Delete(ctx, pod) != nil {
		return false
	}
	l.deleted.Add(1)
	return true
}

// pause waits, or until the context ends.
func pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// requests counts what the writers asked for and were answered so far.
func (s *scenario) requests() int64 {
	count := s.result.Load.Created + s.result.Load.Refused
	for _, load := range s.storms {
		count += load.created.Load() + load.refused.Load()
	}
	return count
}

// stopStorms ends the writers and counts what they did; what they created stays.
func (s *scenario) stopStorms() {
	for _, load := range s.storms {
		load.cancel()
		load.running.Wait()
		count := &s.result.Load
		count.Created += load.created.Load()
		count.Refused += load.refused.Load()
		count.Deleted += load.deleted.Load()
		count.Failed += load.failed.Load()
	}
	s.storms = nil
}

// endStorms ends the writers and removes what they created.
func (s *scenario) endStorms() {
	s.Helper()
	s.stopStorms()
	for _, member := range s.names() {
		s.eventually("removing the load in "+member, func(ctx context.Context) error {
			return s.member(member).DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(s.key.Namespace), client.MatchingLabels{loadLabel: "true"})
		})
	}
}

// fill creates pods of a number of cpus in a member until it is full.
func (s *scenario) fill(member, name string, count int, cpus string) {
	s.Helper()
	for i := range count {
		pod := newPod(s.key.Namespace, fmt.Sprintf("%s-%d", name, i), cpus)
		pod.Labels = map[string]string{loadLabel: "true", "part": name}
		s.eventually("filling "+member, func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(s.member(member).Create(ctx, pod.DeepCopy()))
		})
	}
}

// drain deletes what fill created.
func (s *scenario) drain(member, name string) {
	s.Helper()
	s.must(s.member(member).DeleteAllOf(s.Context(), &corev1.Pod{}, client.InNamespace(s.key.Namespace), client.MatchingLabels{"part": name}))
}

// used waits until a member counts this usage.
func (s *scenario) used(member string, name corev1.ResourceName, want string) {
	s.Helper()
	s.eventually("usage in "+member, func(ctx context.Context) error {
		quota, err := s.quota(ctx, member)
		if err != nil {
			return err
		}
		if got := quota.Status.Used[name]; got.String() != want {
			return fmt.Errorf("%s used is %s, want %s", name, got.String(), want)
		}
		return nil
	})
}

// namespaceIn makes the namespace in a member.
func (s *scenario) namespaceIn(member string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.key.Namespace}}
	s.must(client.IgnoreAlreadyExists(s.member(member).Create(s.Context(), namespace)))
	// Pods need the service account that the controller manager makes.
	s.eventually("service account in "+member, func(ctx context.Context) error {
		return s.member(member).Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}
