package pool

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/capacity"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/controllers/served"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/validate"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools/status,verbs=update
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the reconciler, now or once the kind is served; begun is called before, to have others
// watch the kind. A hub without it is none the worse.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, begun func() error) error {
	return served.Once(mgr, func() error {
		if err := begun(); err != nil {
			return err
		}
		return r.begin(mgr, options)
	}, poolKind)
}

// poolKind is that of pools.
var poolKind = schema.GroupKind{Group: quotav1alpha1.GroupVersion.Group, Kind: "QuotaPool"}

// begin registers the reconciler and that of tenants, and has it hear of what nodes can run once the hub serves that.
func (r *Reconciler) begin(mgr ctrl.Manager, options controller.Options) error {
	if err := r.index(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.Tenants.Wake = make(chan event.GenericEvent)
	if err := r.Tenants.SetupWithManager(mgr, options); err != nil {
		return err
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("pool").
		For(&quotav1alpha1.QuotaPool{}, builder.WithPredicates(changed)).
		Watches(&quotav1alpha1.QuotaPool{}, changes(r.aroundPool)).
		Watches(&quotav1alpha1.FederatedQuota{}, changes(aroundQuota)).
		Watches(&corev1.Namespace{}, handler.Funcs{UpdateFunc: r.relabelled}, builder.OnlyMetadata).
		WatchesRawSource(source.Channel(r.Tenants.Wake, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Func(r.Needs.start)).
		WithOptions(options).
		Build(r)
	if err != nil {
		return err
	}
	follows := handler.EnqueueRequestsFromMapFunc(r.following)
	return served.Once(mgr, func() error {
		return errors.Join(
			c.Watch(source.Kind[client.Object](mgr.GetCache(), &quotav1alpha1.ClusterCapacity{}, follows)),
			c.Watch(source.Kind[client.Object](
				mgr.GetCache(), &clusterv1.Cluster{}, follows,
				predicate.Or(predicate.LabelChangedPredicate{}, members.StatedDestroyed),
			)),
		)
	}, capacity.Kind)
}

// following returns the pools whose budget follows what nodes can run.
func (r *Reconciler) following(ctx context.Context, _ client.Object) []ctrl.Request {
	return r.those(ctx, func(p *quotav1alpha1.QuotaPool) bool { return p.Spec.Capacity != nil })
}

// changed lets through a pool that is to be acted on otherwise: its own rounds change its status.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*quotav1alpha1.QuotaPool), e.ObjectNew.(*quotav1alpha1.QuotaPool)
	return before.UID != after.UID || !before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec)
}}

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
		names.Insert(membership.PoolOf(fq), poolIn(fq.Status.Pool))
		status := fq.Status
		said[i] = []any{
			fq.UID, fq.Spec.Pool, fq.Spec.Hard, fq.Spec.Reserve, fq.Spec.Capacity, fq.DeletionTimestamp, status.Capacity,
			status.Pool, status.Granted, status.Used, status.Demand, status.DemandByShape, status.AlsoNeeded,
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
		for _, request := range r.those(ctx, func(*quotav1alpha1.QuotaPool) bool { return true }) {
			names.Insert(request.Name)
		}
	}
	if !ok || !remains {
		return names
	}
	names.Insert(string(was.Spec.Parent), string(is.Spec.Parent), poolIn(was.Status.Pool), poolIn(is.Status.Pool))
	r.moving.Range(func(name, _ any) bool {
		names.Insert(name.(string))
		return true
	})
	for _, key := range Offered(was, is).UnsortedList() {
		if name := nameOf(key); pool.KeyOf(string(name)) == key {
			names.Insert(string(name))
		}
	}
	return names
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

// relabelled wakes the pools that a change of a namespace's labels concerns.
func (r *Reconciler) relabelled(ctx context.Context, e event.UpdateEvent, q queue) {
	before, after := e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()
	if maps.Equal(before, after) {
		return
	}
	for _, request := range r.those(ctx, func(p *quotav1alpha1.QuotaPool) bool {
		return validate.Allows(&p.Spec, before) != validate.Allows(&p.Spec, after)
	}) {
		q.Add(request)
	}
}

// those returns the pools that are wanted.
func (r *Reconciler) those(ctx context.Context, wanted func(*quotav1alpha1.QuotaPool) bool) []ctrl.Request {
	return requests.Those(ctx, r, &quotav1alpha1.QuotaPoolList{}, wanted)
}
