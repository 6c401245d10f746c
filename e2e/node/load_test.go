//go:build node

package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// writers is how many create pods that fit, at once.
	writers = 3
	// nobody is a scheduler that does not exist: pods of the load are charged and reviewed like all others, and burden no node.
	nobody = "nobody"
)

// load is requests to the API server of the hub until it is ended: pods that fit, and pods that have to wait for a raise.
type load struct {
	fitting, waiting tally
	cancel           context.CancelFunc
	running          sync.WaitGroup
}

// tally is how requests were answered.
type tally struct {
	mutex    sync.Mutex
	created  int
	failures []string
	longest  time.Duration
}

// count counts an answer.
func (t *tally) count(err error, took time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.longest = max(t.longest, took)
	if err == nil {
		t.created++
		return
	}
	t.failures = append(t.failures, fmt.Sprintf("%s after %s: %v", time.Now().Format(time.TimeOnly), took.Round(time.Millisecond), err))
}

// done is how many requests were answered so far.
func (t *tally) done() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.created + len(t.failures)
}

// String is the count in one line.
func (t *tally) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return fmt.Sprintf("%d created, %d failed, %s at the longest", t.created, len(t.failures), t.longest.Round(time.Millisecond))
}

// startLoad starts a load, and returns once all its kinds of requests are being answered.
func (w *world) startLoad() *load {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	l := &load{cancel: cancel}
	w.Cleanup(l.end)
	for range writers {
		l.running.Go(func() { w.fit(ctx, &l.fitting) })
	}
	l.running.Go(func() { w.exceed(ctx, &l.waiting) })
	w.progress(l)
	return l
}

// progress waits until more requests of all kinds are answered.
func (w *world) progress(l *load) {
	w.Helper()
	const more = 5
	fitting, waiting := l.fitting.done()+more*writers, l.waiting.done()+more
	w.eventually("the load to be answered", func(context.Context) error {
		if l.fitting.done() < fitting || l.waiting.done() < waiting {
			return fmt.Errorf("that fits: %s; that waits: %s", &l.fitting, &l.waiting)
		}
		return nil
	})
}

// end ends the load once what it has asked for is answered.
func (l *load) end() {
	l.cancel()
	l.running.Wait()
}

// aboveLimit is a little more than what is left of the limit in force.
func (w *world) aboveLimit(ctx context.Context) (resource.Quantity, error) {
	quota := &corev1.ResourceQuota{}
	err := w.hub.Get(ctx, tight, quota)
	asked := quota.Status.Hard[cpu]
	asked.Sub(quota.Status.Used[cpu])
	asked.Add(resource.MustParse("20m"))
	return asked, err
}

// fit creates pods that fit, one after the other. They stay: who deletes makes the quota controller write the same object as the API
// servers, which then refuse a request now and then for that conflict alone, with fedquota or without.
func (w *world) fit(ctx context.Context, t *tally) {
	for ctx.Err() == nil {
		start := time.Now()
		err := w.hub.Create(context.WithoutCancel(ctx), loadPod(ample.Namespace, "1m"))
		t.count(err, time.Since(start))
	}
}

// exceed creates pods that have to wait for a raise, and deletes them, one after the other. What it has begun it ends.
func (w *world) exceed(ctx context.Context, t *tally) {
	going := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		asked, err := w.aboveLimit(going)
		if err != nil {
			t.count(fmt.Errorf("reading the limit: %w", err), 0)
			continue
		}
		pod, start := loadPod(tight.Namespace, asked.String()), time.Now()
		err = w.hub.Create(going, pod)
		t.count(err, time.Since(start))
		if err != nil {
			continue
		}
		if err := w.hub.Delete(going, pod, client.GracePeriodSeconds(0)); err != nil {
			t.count(fmt.Errorf("deleting: %w", err), 0)
		}
	}
}

// loadPod returns a pod that nobody schedules.
func loadPod(namespace, cpus string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("load-%d", rand.Int64())},
		Spec:       podSpec(cpus),
	}
	pod.Spec.SchedulerName = nobody
	return pod
}
