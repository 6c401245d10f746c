package pool

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools/status,verbs=update
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the reconciler, now or once the kind is served; begun is called before, to have others
// watch the kind. A hub without it is none the worse.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, begun func() error) error {
	if started, err := r.begin(mgr, options, begun); started || err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, pace.ProfilesInterval, false, func(context.Context) (bool, error) {
			return r.begin(mgr, options, begun)
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
		return err
	}))
}

// kind is that of pools.
var kind = schema.GroupKind{Group: quotav1alpha1.GroupVersion.Group, Kind: "QuotaPool"}

// begin registers the reconciler if the kind is served. If that cannot be known just now, it is asked again.
func (r *Reconciler) begin(mgr ctrl.Manager, options controller.Options, begun func() error) (bool, error) {
	if _, err := mgr.GetRESTMapper().RESTMapping(kind); err != nil {
		if !apimeta.IsNoMatchError(err) {
			mgr.GetLogger().Error(err, "Asking whether QuotaPools are served")
		}
		return false, nil
	}
	if err := begun(); err != nil {
		return false, err
	}
	return true, ctrl.NewControllerManagedBy(mgr).
		Named("pool").
		For(&quotav1alpha1.QuotaPool{}, builder.WithPredicates(changed)).
		Watches(&quotav1alpha1.QuotaPool{}, changes(r.aroundPool)).
		Watches(&quotav1alpha1.FederatedQuota{}, changes(aroundQuota)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.all),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(source.Func(r.Needs.start)).
		WithOptions(options).
		Complete(r)
}

// changed lets through a pool that is to be acted on otherwise: its own rounds change its status.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*quotav1alpha1.QuotaPool), e.ObjectNew.(*quotav1alpha1.QuotaPool)
	return before.UID != after.UID || !before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec)
}}

// queue takes the pools that are to have a round.
type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// changes has an object wake the pools that a change of it concerns; before is nil where it has come, after where it
// has gone.
func changes(concerned func(ctx context.Context, before, after client.Object) sets.Set[string]) handler.EventHandler {
	wake := func(ctx context.Context, before, after client.Object, q queue) {
		for name := range concerned(ctx, before, after) {
			if name != "" {
				q.Add(ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			wake(ctx, nil, e.Object, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			wake(ctx, e.Object, nil, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			wake(ctx, e.ObjectOld, e.ObjectNew, q)
		},
	}
}

// aroundQuota returns the pools that a change of a FederatedQuota concerns: those that it names, and that it is in.
func aroundQuota(_ context.Context, before, after client.Object) sets.Set[string] {
	names := sets.New[string]()
	said := [2]any{}
	for i, object := range []client.Object{before, after} {
		fq, ok := object.(*quotav1alpha1.FederatedQuota)
		if !ok {
			continue
		}
		names.Insert(membership.PoolOf(fq), stored(fq.Status.Pool))
		status := fq.Status
		said[i] = []any{
			fq.UID, fq.Spec.Pool, fq.Spec.Hard, fq.Spec.Reserve, fq.DeletionTimestamp,
			status.Pool, status.Granted, status.Used, status.Demand, status.DemandByShape, status.Kept,
			status.Revision == 0, stalled(status.Conditions),
		}
	}
	if equality.Semantic.DeepEqual(said[0], said[1]) {
		return nil
	}
	return names
}

// aroundPool returns the pools that a change of another one concerns: those above it and below it, and all where the
// tree changes, since a circle may have come or gone.
func (r *Reconciler) aroundPool(ctx context.Context, before, after client.Object) sets.Set[string] {
	names := sets.New[string]()
	was, ok := before.(*quotav1alpha1.QuotaPool)
	is, remains := after.(*quotav1alpha1.QuotaPool)
	if !ok || !remains || was.Spec.Parent != is.Spec.Parent || was.UID != is.UID {
		for _, request := range r.all(ctx, nil) {
			names.Insert(request.Name)
		}
	}
	if !ok || !remains {
		return names
	}
	names.Insert(string(was.Spec.Parent), string(is.Spec.Parent), stored(was.Status.Pool), stored(is.Status.Pool))
	for _, key := range Offered(was, is).UnsortedList() {
		if name := nameOf(key); pool.KeyOf(string(name)) == key {
			names.Insert(string(name))
		}
	}
	return names
}

func stored(m *quotav1alpha1.PoolMembership) string {
	if m == nil {
		return ""
	}
	return string(m.Name)
}

// Offered returns the keys of the children that a pool offers something else than before.
func Offered(before, after *quotav1alpha1.QuotaPool) sets.Set[string] {
	was := make(map[quotav1alpha1.ChildKey]quotav1alpha1.ChildStatus, len(before.Status.Children))
	for _, c := range before.Status.Children {
		was[c.Key] = c
	}
	keys := sets.New[string]()
	for _, c := range after.Status.Children {
		if old, ok := was[c.Key]; !ok || old.Revision != c.Revision || old.UID != c.UID || old.Tenure != c.Tenure {
			keys.Insert(string(c.Key))
		}
	}
	return keys
}

// all returns all pools.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []ctrl.Request {
	var pools quotav1alpha1.QuotaPoolList
	if err := r.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list QuotaPools")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(pools.Items))
	for i := range pools.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKey{Name: pools.Items[i].Name}})
	}
	return requests
}
