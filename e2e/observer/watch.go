package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// retryPause is how long a watch or list that failed waits before the next attempt.
const retryPause = 100 * time.Millisecond

// errExpired is returned when a watch cannot go on where it was.
var errExpired = errors.New("versions are gone")

// watcher delivers every version of one object in one member, in order.
type watcher struct {
	client typedcorev1.ResourceQuotaInterface
	name   string
	// observe takes a version, nil when the object is absent.
	observe func(rq *corev1.ResourceQuota, how step)
	// resumed is called when a watch broke and goes on without a loss.
	resumed func()
}

func (w *watcher) options() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.name).String()}
}

// list delivers what is there now, by a consistent list, and returns the resourceVersion from which to watch.
func (w *watcher) list(ctx context.Context, how step) (string, error) {
	quotas, err := w.client.List(ctx, w.options())
	if err != nil {
		return "", fmt.Errorf("listing ResourceQuota %s: %w", w.name, err)
	}
	var rq *corev1.ResourceQuota
	if len(quotas.Items) > 0 {
		rq = &quotas.Items[0]
	}
	w.observe(rq, how)
	return quotas.ResourceVersion, nil
}

// run watches from a resourceVersion until the context ends.
func (w *watcher) run(ctx context.Context, from string) {
	for ctx.Err() == nil {
		last, err := w.follow(ctx, from)
		from = last
		if errors.Is(err, errExpired) {
			from = w.relist(ctx)
			continue
		}
		if err != nil {
			pause(ctx)
		}
		if ctx.Err() == nil {
			w.resumed()
		}
	}
}

// relist lists until that succeeds.
func (w *watcher) relist(ctx context.Context) string {
	for {
		from, err := w.list(ctx, stepGap)
		if err == nil || ctx.Err() != nil {
			return from
		}
		pause(ctx)
	}
}

// follow delivers versions until the watch ends, and returns the resourceVersion that it has come to.
func (w *watcher) follow(ctx context.Context, from string) (string, error) {
	options := w.options()
	options.ResourceVersion, options.AllowWatchBookmarks = from, true
	stream, err := w.client.Watch(ctx, options)
	if err != nil {
		return from, expired(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return from, expired(apierrors.FromObject(event.Object))
		}
		rq, ok := event.Object.(*corev1.ResourceQuota)
		if !ok {
			return from, fmt.Errorf("watching ResourceQuota %s: got %T", w.name, event.Object)
		}
		from = rq.ResourceVersion
		w.deliver(event.Type, rq)
	}
	return from, nil
}

func (w *watcher) deliver(kind watch.EventType, rq *corev1.ResourceQuota) {
	switch kind {
	case watch.Added, watch.Modified:
		w.observe(rq, stepNext)
	case watch.Deleted:
		w.observe(nil, stepNext)
	}
}

// expired turns the answer that versions are gone into errExpired.
func expired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errExpired
	}
	return err
}

// pause waits for retryPause or the end of the context.
func pause(ctx context.Context) {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
