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
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	loadLabel = "load"
	// writers is how many write into each member.
	writers = 4
	// loadPod is what each pod of the load asks for: as many fit by cpu as by pods, in the sample.
	loadPod = "500m"
	// lastPods is how many each writer creates at most in the end: more than any limit allows.
	lastPods = 100
)

// storm is writers who create and delete pods in one member as fast as its API servers answer. They fill whatever limit
// is in force: refused, they delete one and try again. In the end they delete no more, so that what is counted then is
// all that limits allow.
type storm struct {
	namespace string
	clients   []client.WithWatch
	cancel    context.CancelFunc
	running   sync.WaitGroup
	// shape makes a pod one that the budget counts.
	shape func(*corev1.Pod)
	// ending lets them end, once all limits are full and what they have asked for is answered.
	ending atomic.Bool
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
		load := &storm{namespace: s.key.Namespace, clients: s.members[member], cancel: cancel, shape: s.shape}
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

// lull has the writers delete what they have until all is settled, and write again until they are refused: the limits
// are full then.
func (s *scenario) lull() {
	s.Helper()
	for _, load := range s.storms {
		load.idle.Store(true)
	}
	s.eventually("all to be settled without load", s.settled)
	refused := make([]int64, len(s.storms))
	for i, load := range s.storms {
		refused[i] = load.refused.Load()
		load.idle.Store(false)
	}
	s.eventually("the limits to be full again", func(context.Context) error {
		for i, load := range s.storms {
			if load.refused.Load() == refused[i] {
				return fmt.Errorf("a load was not refused yet")
			}
		}
		return nil
	})
}

// write creates and deletes until the end, and then fills what limits leave.
func (l *storm) write(ctx context.Context, writer int) {
	var own []*corev1.Pod
	next := func() client.Client {
		writer++
		return l.clients[writer%len(l.clients)]
	}
	for !l.ending.Load() && ctx.Err() == nil {
		c := next()
		if l.idle.Load() {
			own = slices.DeleteFunc(own, func(pod *corev1.Pod) bool { return l.delete(ctx, c, pod) })
			pause(ctx, pollInterval)
			continue
		}
		pod, err := l.create(ctx, c)
		if err == nil {
			own = append(own, pod)
		}
		if len(own) > 0 && (err != nil || rand.IntN(4) == 0) {
			if l.delete(ctx, c, own[0]) {
				own = own[1:]
			}
		}
	}
	for range lastPods {
		if l.idle.Load() {
			return
		}
		if _, err := l.create(ctx, next()); err != nil {
			return
		}
	}
}

// create creates a pod.
func (l *storm) create(ctx context.Context, c client.Client) (*corev1.Pod, error) {
	pod := newPod(l.namespace, fmt.Sprintf("load-%d", rand.Int64()), loadPod)
	pod.Labels = map[string]string{loadLabel: "true"}
	l.shape(pod)
	err := c.Create(ctx, pod)
	switch {
	case err == nil:
		l.created.Add(1)
	case apierrors.IsForbidden(err):
		l.refused.Add(1)
	default:
		l.failed.Add(1)
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			pause(ctx, pollInterval) // nobody answers
		}
	}
	return pod, err
}

// delete deletes a pod, and says whether it is gone: a member that is rolled back may not know of it.
func (l *storm) delete(ctx context.Context, c client.Client, pod *corev1.Pod) bool {
	err := c.Delete(ctx, pod)
	if err == nil {
		l.deleted.Add(1)
	}
	return client.IgnoreNotFound(err) == nil
}

// end waits until the writers have ended, and gives up what is not answered for too long.
func (l *storm) end() {
	l.ending.Store(true)
	giveUp := time.AfterFunc(patience, l.cancel)
	l.running.Wait()
	giveUp.Stop()
	l.cancel()
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
	s.Helper()
	defer s.tellOfWait("the load to end", time.Now())
	var ending sync.WaitGroup
	for _, load := range s.storms {
		ending.Go(load.end)
	}
	ending.Wait()
	for _, load := range s.storms {
		count := &s.result.Load
		count.Created += load.created.Load()
		count.Refused += load.refused.Load()
		count.Deleted += load.deleted.Load()
		count.Failed += load.failed.Load()
	}
	s.storms = nil
}

// endStorms ends the writers, counts what exists, and only then removes what they created.
func (s *scenario) endStorms() {
	s.Helper()
	s.stopStorms()
	s.recount()
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

// recounted waits until the quota controller of a member has counted this usage itself. Where it counts everything anew
// before it has heard of a pod that was charged just now, it takes that charge back, and limits follow, until it counts
// the next time. So one more pod comes, which asks for no cpu, since that may be used up, and goes,
// which makes it count.
func (s *scenario) recounted(member string, want corev1.ResourceList) {
	s.Helper()
	pod := newPod(s.key.Namespace, "recounted", "0")
	s.eventually("one more pod in "+member, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.member(member).Create(ctx, pod.DeepCopy()))
	})
	s.must(s.member(member).Delete(s.Context(), pod))
	s.eventually("a recount in "+member, func(ctx context.Context) error {
		quota, err := s.quota(ctx, member)
		if err != nil {
			return err
		}
		if used := quotav1.Mask(quota.Status.Used, quotav1.ResourceNames(want)); !quotav1.Equals(used, want) {
			return fmt.Errorf("%s is used, want %s", text(used), text(want))
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
