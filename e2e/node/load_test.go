//go:build node

package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// writers is how many create pods that fit, at once. One more creates pods that have to wait: what several ask for is
	// not known to fit until it is there.
	writers = 3
	// wait is how long requests are held.
	wait = 5 * time.Second
	// settling is how long a request that there is room for waits for an API server that is slow to see that. Then native
	// quota judges.
	settling = time.Second
	// nobody is a scheduler that does not exist: pods of the load are charged and reviewed like all others, and burden no
	// node.
	nobody = "nobody"
)

// load is requests to the API server of the hub until it is ended: pods that fit, and pods that have to wait for a
// raise.
type load struct {
	fitting, waiting tally
	// unreviewed is how many requests the API server had let through without an answer of the webhook when the load began.
	unreviewed int
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

// tally is how requests were answered.
type tally struct {
	mutex   sync.Mutex
	created int
	// refused by the webhook, in the words of native quota: no raise came while it held them, or it would not have come.
	refused int
	// bypassed are those that native quota refused without the webhook having held them, and failed those with any other
	// error.
	bypassed, failed []string
	longest          time.Duration
}

// count counts an answer. Native quota also refuses what was held, where its API server has not seen the raise in time.
func (t *tally) count(err error, took time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.longest = max(t.longest, took)
	line := fmt.Sprintf("%s after %s: %v", time.Now().Format(time.TimeOnly), took.Round(time.Millisecond), err)
	switch {
	case err == nil:
		t.created++
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota"):
		t.failed = append(t.failed, line)
	case strings.Contains(err.Error(), "admission webhook"), took >= settling:
		t.refused++
	default:
		t.bypassed = append(t.bypassed, line)
	}
}

// done is how many requests were answered so far.
func (t *tally) done() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.created + t.refused + len(t.bypassed) + len(t.failed)
}

// notHeld is how many requests were refused without having been held so far.
func (t *tally) notHeld() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.bypassed)
}

// String is the count in one line.
func (t *tally) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return fmt.Sprintf("%d created, %d refused, %d of them not held, %d failed, %s at the longest",
		t.created, t.refused+len(t.bypassed), len(t.bypassed), len(t.failed), t.longest.Round(time.Millisecond))
}

// startLoad starts a load, and returns once all its kinds of requests are being answered.
func (w *world) startLoad() *load {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	l := &load{cancel: cancel, unreviewed: w.unreviewed()}
	w.Cleanup(l.end)
	for range writers {
		l.running.Go(func() { w.create(ctx, &l.fitting, ample.Namespace, little) })
	}
	l.running.Go(func() { w.create(ctx, &l.waiting, tight.Namespace, w.aboveLimit) })
	w.progress(l)
	return l
}

// progress waits until more requests of all kinds are answered.
func (w *world) progress(l *load) {
	w.Helper()
	const more = 5
	fitting, waiting := l.fitting.done()+more, l.waiting.done()+more
	w.eventually("the load to be answered", func(context.Context) error {
		if l.fitting.done() < fitting || l.waiting.done() < waiting {
			return fmt.Errorf("that fits: %s; that waits: %s", &l.fitting, &l.waiting)
		}
		return nil
	})
}

// judge says what must not be: no request that fits is refused, and none fails. Of those that wait none is refused
// without having been held, but for so many.
func (w *world) judge(what string, l *load, excused int) {
	w.Helper()
	l.end()
	w.Logf("%s. What fits: %s. What waits: %s", what, &l.fitting, &l.waiting)
	fits, waits := &l.fitting, &l.waiting
	if waits.created == 0 {
		w.fault("%s: no limit was raised for a request that was held", what)
	}
	if fits.refused > 0 {
		w.fault("%s: requests that fit were refused", what)
	}
	for _, line := range slices.Concat(fits.bypassed, fits.failed, waits.failed) {
		w.fault("%s: a request failed: %s", what, line)
	}
	for _, line := range waits.bypassed[excused:] {
		w.fault("%s: a request was not held: %s", what, line)
	}
}

// smooth says that, while the load ran, the API server has let no request go because the webhook gave no answer.
func (w *world) smooth(what string, l *load) {
	w.Helper()
	if count := w.unreviewed() - l.unreviewed; count > 0 {
		w.fault("%s: the webhook gave no answer to %d requests", what, count)
	}
}

// unreviewed is how many requests the API server of the hub has let through because the agent's webhook gave no answer.
func (w *world) unreviewed() int {
	w.Helper()
	total := 0
	for line := range strings.Lines(w.kubectl("get", "--raw", "/metrics")) {
		if strings.HasPrefix(line, `apiserver_admission_webhook_fail_open_count{name="pods.fedquota.io"`) {
			count, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			w.must(err)
			total += int(count)
		}
	}
	return total
}

// end ends the load once what it has asked for is answered.
func (l *load) end() {
	l.cancel()
	l.running.Wait()
}

// little is what always fits.
func little(context.Context) (resource.Quantity, error) { return resource.MustParse("1m"), nil }

// aboveLimit is a little more than what is left of the limit in force.
func (w *world) aboveLimit(ctx context.Context) (resource.Quantity, error) {
	quota := &corev1.ResourceQuota{}
	err := w.hub.Get(ctx, tight, quota)
	asked := quota.Status.Hard[cpu]
	asked.Sub(quota.Status.Used[cpu])
	asked.Add(resource.MustParse("20m"))
	return asked, err
}

// create creates pods that ask for something, one after the other. They stay: who deletes makes the quota controller
// write the same object as the API server, which then refuses a request now and then for that conflict alone, with
// fedquota or without.
func (w *world) create(ctx context.Context, t *tally, namespace string, asks func(context.Context) (resource.Quantity, error)) {
	going := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		asked, err := asks(going)
		if err != nil {
			t.count(fmt.Errorf("reading the limit: %w", err), 0)
			continue
		}
		start := time.Now()
		err = w.hub.Create(going, loadPod(namespace, asked))
		t.count(err, time.Since(start))
	}
}

// loadPod returns a pod that nobody schedules.
func loadPod(namespace string, cpus resource.Quantity) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("load-%d", rand.Int64())},
		Spec:       podSpec(cpus.String()),
	}
	pod.Spec.SchedulerName = nobody
	return pod
}
