package demand

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
)

// Namespaces has pods, LimitRanges and workloads watched where there is a share, and nowhere else: the agent holds
// nothing, and is sent nothing, that no share charges.
type Namespaces struct {
	// Reader knows the shares.
	client.Reader
	// Follow begins to watch a namespace, until it is told to stop.
	Follow func(namespace string) (stop func(), err error)

	followed map[string]func() // what stops it, by namespace
}

// SetupWithManager registers the reconciler. API servers ask any replica, so each of them has to know.
func (n *Namespaces) SetupWithManager(mgr ctrl.Manager) error {
	namespaceOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, share client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: share.GetNamespace()}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("namespaces").
		Watches(&quotav1alpha1.QuotaShare{}, namespaceOf,
			builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }})).
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 1, RateLimiter: backoff.RateLimiter()}).
		Complete(n)
}

// Reconcile begins to watch a namespace that has a share, and ends to watch one that has none any more.
func (n *Namespaces) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var shares quotav1alpha1.QuotaShareList
	if err := n.List(ctx, &shares, client.InNamespace(req.Name), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	stop, followed := n.followed[req.Name]
	switch {
	case followed && len(shares.Items) == 0:
		stop()
		delete(n.followed, req.Name)
	case !followed && len(shares.Items) > 0:
		stop, err := n.Follow(req.Name)
		if err != nil {
			return ctrl.Result{}, err
		}
		if n.followed == nil {
			n.followed = map[string]func(){}
		}
		n.followed[req.Name] = stop
	}
	return ctrl.Result{}, nil
}

// Follow keeps the book by the pods, LimitRanges and workloads of a namespace, until it is told to stop or the context
// ends. When stop has returned, the book knows nothing of the namespace. Workloads come last: one would seem to lack
// pods that are not known yet, and to need less for each than a LimitRange gives it.
func (d *Demand) Follow(ctx context.Context, api kubernetes.Interface, namespace string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	objects := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(namespace), informers.WithTransform(trim))
	var first []toolscache.DoneChecker
	for _, informer := range []toolscache.SharedIndexInformer{objects.Core().V1().Pods().Informer(), objects.Core().V1().LimitRanges().Informer()} {
		taken, err := d.take(ctx, informer)
		if err != nil {
			cancel()
			return nil, err
		}
		first = append(first, taken.HasSyncedChecker())
	}
	objects.StartWithContext(ctx)
	var rest sync.WaitGroup
	rest.Go(func() {
		if !toolscache.WaitFor(ctx, "", first...) {
			return
		}
		for _, workloads := range []toolscache.SharedIndexInformer{
			objects.Apps().V1().ReplicaSets().Informer(), objects.Apps().V1().StatefulSets().Informer(), objects.Batch().V1().Jobs().Informer(),
		} {
			if _, err := d.take(ctx, workloads); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to watch workloads", "namespace", namespace)
			}
		}
		objects.StartWithContext(ctx)
	})
	return func() {
		cancel()
		rest.Wait()
		objects.Shutdown()
		d.Book.DeleteNamespace(namespace)
	}, nil
}

// take has the book follow what an informer tells.
func (d *Demand) take(ctx context.Context, informer toolscache.SharedIndexInformer) (toolscache.ResourceEventHandlerRegistration, error) {
	return informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { d.set(ctx, object) },
		UpdateFunc: func(_, object any) { d.set(ctx, object) },
		DeleteFunc: func(object any) { d.unset(ctx, object) },
	})
}
