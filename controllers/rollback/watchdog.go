package rollback

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// interval is how often the store is looked at: far more often than a store that went back gets where it was.
	interval = time.Second
	// timeout is how long a look may take.
	timeout = 3 * time.Second
)

// ErrStoreWentBack is why a process has to end: what it has in its caches and in its memory is of a time that is no more.
var ErrStoreWentBack = errors.New("the API server shows an earlier state than it did: its etcd was restored; this process ends, to start again without what it remembers")

// Watchdog ends the process when the store of its own API server went back. It looks on every replica: the one that
// takes over must not act on caches of the past either.
type Watchdog struct {
	// Live reads from the API server.
	Live client.Reader
	// Kind is what is listed, of which Options select little. What is listed is better an object that changes often: it shows
	// that the store went back even when the store as a whole is ahead again.
	Kind    schema.GroupVersionKind
	Options []client.ListOption

	memory Memory
}

// NeedLeaderElection says that the watchdog runs on every replica.
func (*Watchdog) NeedLeaderElection() bool { return false }

// Start looks again and again, until the store went back or the process ends.
func (w *Watchdog) Start(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		return false, w.Look(ctx)
	})
	if errors.Is(err, ErrStoreWentBack) {
		return err
	}
	return nil // the process ends for another reason
}

// Look returns ErrStoreWentBack if the store went back since the last look. An API server that does not answer says nothing.
func (w *Watchdog) Look(ctx context.Context) error {
	list, err := List(ctx, w.Live, w.Kind, timeout, w.Options...)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Looking whether the store went back failed", "reason", err.Error())
		return nil
	}
	if w.memory.Behind(list) {
		return ErrStoreWentBack
	}
	return nil
}

// List reads metadata consistently: without a resourceVersion the answer is no older than the request.
func List(ctx context.Context, live client.Reader, kind schema.GroupVersionKind, timeout time.Duration, options ...client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list, live.List(ctx, list, options...)
}
