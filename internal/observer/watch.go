package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fedquota/fedquota/internal/observer/judge"
)

// retryPause is how long a watch or list that failed waits before the next attempt.
const retryPause = 100 * time.Millisecond

// errExpired is returned when a watch cannot go on where it was.
var errExpired = errors.New("versions are gone")

// watcher delivers every version of one object in one member, in order, and which others of its namespace are managed.
type watcher struct {
	client typedcorev1.ResourceQuotaInterface
	name   string
	// others is the scopes of those others, by name.
	others map[string]string
	// observe takes a version, nil when the object is absent.
	observe func(rq *corev1.ResourceQuota, how judge.Step)
	// beside takes the others.
	beside func(others map[string]string)
	// resumed is called when a watch broke and goes on without a loss.
	resumed func()
}

// list delivers what is there now, by a consistent list, and returns the resourceVersion from which to watch.
func (w *watcher) list(ctx context.Context, how judge.Step) (string, error) {
	quotas, err := w.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing ResourceQuota %s: %w", w.name, err)
	}
	var own *corev1.ResourceQuota
	w.others = map[string]string{}
	for i := range quotas.Items {
		rq := &quotas.Items[i]
		if rq.Name == w.name {
			own = rq
			continue
		}
		w.another(watch.Added, rq)
	}
	w.beside(nil) // what was there before the list may not have been there together with what is in it
	w.observe(own, how)
	w.beside(w.others)
	return quotas.ResourceVersion, nil
}

// run watches from a resourceVersion until the context ends.
func (w *watcher) run(ctx context.Context, from string) {
	deliver := func(kind watch.EventType, object runtime.Object) error {
		rq, ok := object.(*corev1.ResourceQuota)
		if !ok {
			return fmt.Errorf("watching ResourceQuota %s: got %T", w.name, object)
		}
		w.deliver(kind, rq)
		return nil
	}
	(&follower{list: w.list, watch: w.client.Watch, deliver: deliver, resumed: w.resumed}).run(ctx, from)
}

// follower goes on watching, whatever breaks.
type follower struct {
	list  func(ctx context.Context, how judge.Step) (string, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// deliver takes an event.
	deliver func(kind watch.EventType, object runtime.Object) error
	// resumed is called when a watch broke and goes on without a loss.
	resumed func()
}

// run watches from a resourceVersion until the context ends.
func (f *follower) run(ctx context.Context, from string) {
	for ctx.Err() == nil {
		last, err := f.follow(ctx, from)
		from = last
		if errors.Is(err, errExpired) {
			from = f.relist(ctx)
			continue
		}
		if err != nil {
			pause(ctx)
		}
		if ctx.Err() == nil {
			f.resumed()
		}
	}
}

// relist lists until that succeeds.
func (f *follower) relist(ctx context.Context) string {
	for {
		from, err := f.list(ctx, judge.Gap)
		if err == nil || ctx.Err() != nil {
			return from
		}
		pause(ctx)
	}
}

// follow delivers versions until the watch ends, and returns the resourceVersion that it has come to.
func (f *follower) follow(ctx context.Context, from string) (string, error) {
	stream, err := f.watch(ctx, metav1.ListOptions{ResourceVersion: from, AllowWatchBookmarks: true})
	if err != nil {
		return from, expired(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return from, expired(apierrors.FromObject(event.Object))
		}
		object, err := apimeta.Accessor(event.Object)
		if err == nil {
			err = f.deliver(event.Type, event.Object)
		}
		if err != nil {
			return from, err
		}
		from = object.GetResourceVersion()
	}
	return from, nil
}

func (w *watcher) deliver(kind watch.EventType, rq *corev1.ResourceQuota) {
	switch {
	case kind == watch.Bookmark:
	case rq.Name != w.name:
		w.another(kind, rq)
		w.beside(w.others)
	case kind == watch.Deleted:
		w.observe(nil, judge.Next)
	default:
		w.observe(rq, judge.Next)
	}
}

// another takes what another ResourceQuota of the namespace has become.
func (w *watcher) another(kind watch.EventType, rq *corev1.ResourceQuota) {
	if kind != watch.Deleted && rq.Labels[judge.ManagedLabel] == "true" {
		w.others[rq.Name] = judge.ScopesOf(rq)
		return
	}
	delete(w.others, rq.Name)
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
