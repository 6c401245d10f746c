package rollback

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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

// ErrStoreWentBack is why a process has to end: what it has in its caches and in its memory is of a time that is no
// more.
var ErrStoreWentBack = errors.New(
	"the API server shows an earlier state than it did: its etcd was restored; this process ends, to start again without what it remembers",
)

// Watchdog ends the process when the store of its own API server went back. It looks on every replica: the one that
// takes over must not act on caches of the past either.
type Watchdog struct {
	// Live reads from the API server.
	Live client.Reader
	// Kind is what is listed, of which Options select little. What is listed is better an object that changes often: it
	// shows that the store went back even when the store as a whole is ahead again.
	Kind    schema.GroupVersionKind
	Options []client.ListOption
	// Cached reads from the caches, which may have seen more than the last look, and Objects is an empty list of what it
	// shows.
	Cached  client.Client
	Objects client.ObjectList

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

// Look returns ErrStoreWentBack if the store went back since the last look. An API server that does not answer says
// nothing.
func (w *Watchdog) Look(ctx context.Context) error {
	list, err := List(ctx, w.Live, w.Kind, timeout, w.Options...)
	behind := err == nil && w.memory.Behind(list)
	if err == nil && !behind {
		behind, err = w.behindCache(ctx)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Looking whether the store went back failed", "err", err.Error())
		return nil
	}
	if behind {
		return ErrStoreWentBack
	}
	return nil
}

// behindCache says whether the newest object in the cache is newer than in the store. One that the store does not have
// may just have been deleted: the next newest one tells.
func (w *Watchdog) behindCache(ctx context.Context) (bool, error) {
	cached, err := w.newestFirst(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, object := range cached {
		kind, err := w.Cached.GroupVersionKindFor(object)
		if err != nil {
			return false, err
		}
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		if err := w.Live.Get(ctx, client.ObjectKeyFromObject(object), live); err == nil {
			return lower(live.ResourceVersion, object.GetResourceVersion()), nil
		} else if !apierrors.IsNotFound(err) {
			return false, err
		}
	}
	return false, nil
}

// newestFirst returns what is in the cache.
func (w *Watchdog) newestFirst(ctx context.Context) ([]client.Object, error) {
	list := w.Objects.DeepCopyObject().(client.ObjectList)
	if err := w.Cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, apimeta.LenList(list))
	err := apimeta.EachListItem(list, func(o runtime.Object) error {
		objects = append(objects, o.(client.Object))
		return nil
	})
	slices.SortFunc(objects, func(a, b client.Object) int {
		order, err := resourceversion.CompareResourceVersion(b.GetResourceVersion(), a.GetResourceVersion())
		if err != nil {
			return 0
		}
		return order
	})
	return objects, err
}

// List reads metadata consistently: without a resourceVersion the answer is no older than the request.
func List(
	ctx context.Context, live client.Reader, kind schema.GroupVersionKind, timeout time.Duration,
	options ...client.ListOption,
) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list, live.List(ctx, list, options...)
}
