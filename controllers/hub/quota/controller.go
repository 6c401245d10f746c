package quota

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	pools "github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/predicates"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas/status,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=clusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",namespace=default,resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	concerned, siblings := handler.EnqueueRequestsFromMapFunc(r.concerned), handler.EnqueueRequestsFromMapFunc(r.siblings)
	changed := predicates.Changed(func(fq *quotav1alpha1.FederatedQuota) any { return fq.Spec })
	lost := clustercache.WatchForProbeFailure(pace.UnreachableAfter)
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("quota").
		Watches(&quotav1alpha1.FederatedQuota{}, &r.births, builder.WithPredicates(changed)).
		Watches(&quotav1alpha1.FederatedQuota{}, siblings, builder.WithPredicates(changed, newcomers)).
		Watches(&clusterv1.Cluster{}, concerned, builder.WithPredicates(newcomers, predicate.Or(
			predicate.LabelChangedPredicate{}, predicate.GenerationChangedPredicate{}, members.StatedDestroyed))).
		WatchesRawSource(r.Members.GetClusterSource("quota", r.concerned, lost)).
		WatchesRawSource(source.Channel(r.Stores.Wake, handler.EnqueueRequestsFromMapFunc(r.allQuotas))).
		WithOptions(options).
		Build(reconcile.Func(r.onceHeard))
	if err != nil {
		return err
	}
	r.controller = c
	r.Stores.Follow(c, r.reported())
	r.Namespaces.Follow(c, r.housed())
	return nil
}

// WatchPools has rounds of FederatedQuotas start when their pools offer them something else.
func (r *Reconciler) WatchPools(mgr ctrl.Manager) error {
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &quotav1alpha1.QuotaPool{}, handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, rounds queue) {
			if r.heard.Load() {
				r.enqueueInPool(ctx, e.Object.GetName(), nil, rounds)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, rounds queue) {
			r.enqueueInPool(ctx, e.Object.GetName(), nil, rounds)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, rounds queue) {
			before, after := e.ObjectOld.(*quotav1alpha1.QuotaPool), e.ObjectNew.(*quotav1alpha1.QuotaPool)
			if before.UID != after.UID {
				r.enqueueInPool(ctx, after.Name, nil, rounds)
				return
			}
			r.enqueueInPool(ctx, after.Name, pools.Offered(before, after), rounds)
		},
	}))
}

// WatchCapacity has rounds of FederatedQuotas start that follow the nodes of a cluster when these can run something
// else.
func (r *Reconciler) WatchCapacity(mgr ctrl.Manager) error {
	r.nodes.Store(true)
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &quotav1alpha1.ClusterCapacity{},
		handler.EnqueueRequestsFromMapFunc(r.following)))
}

// following returns the FederatedQuotas that a report of the nodes of a cluster concerns: those that are made of nodes,
// and where it is known how many there can be, those that could use more, or have pods that wait for a node.
func (r *Reconciler) following(ctx context.Context, report client.Object) []ctrl.Request {
	bounds := report.(*quotav1alpha1.ClusterCapacity).Growth != nil
	cluster := &clusterv1.Cluster{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(report), cluster); err != nil {
		return nil // what changes with a Cluster, its own watch tells
	}
	of := r.Clusters.Of(cluster)
	return r.quotas(ctx, func(fq *quotav1alpha1.FederatedQuota) bool {
		made := fq.Spec.Capacity != nil || fq.Spec.Distribution.Weights == quotav1alpha1.WeightsCapacity
		return (made || bounds && (len(fq.Status.Demand) > 0 || scaleout.Waits(fq))) && input.Concerns(fq, of)
	})
}

// enqueueInPool has rounds start of the FederatedQuotas that name a pool or are in it: those of these keys, or all if
// that is nil.
func (r *Reconciler) enqueueInPool(ctx context.Context, name string, keys sets.Set[string], rounds queue) {
	if keys != nil && keys.Len() == 0 {
		return
	}
	for _, request := range r.quotas(ctx, func(fq *quotav1alpha1.FederatedQuota) bool {
		in := membership.PoolOf(fq) == name || fq.Status.Pool != nil && string(fq.Status.Pool.Name) == name
		return in && (keys == nil || keys.Has(pool.QuotaKey(fq.Namespace, fq.Name)))
	}) {
		rounds.Add(request)
	}
}

// onceHeard makes a round of a FederatedQuota, once there are no members left that are about to say what they hold:
// until then none would be decided on.
func (r *Reconciler) onceHeard(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if r.Stores.Listening(ctx) {
		return ctrl.Result{RequeueAfter: pace.FirstLookInterval}, nil
	}
	r.heard.Store(true)
	return r.Reconcile(ctx, req)
}

// Reconcile makes one round: gather, decide, store, deliver.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := r.Live.Get(ctx, req.NamespacedName, fq); err != nil {
		if apierrors.IsNotFound(err) {
			r.Needs.Forget(pool.QuotaKey(req.Namespace, req.Name))
			r.Records.Forget(req.NamespacedName)
			r.Limits.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if fq.DeletionTimestamp.IsZero() {
		if err := r.meet(ctx, fq); err != nil {
			return ctrl.Result{}, err
		}
	} else if !controllerutil.ContainsFinalizer(fq, quotav1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}

	s, err := r.gather(ctx, fq)
	if err != nil {
		return ctrl.Result{}, err
	}
	s.decide()
	r.births.learn(s.decision)
	r.await(s)
	memory := r.memories.of(fq.UID)
	memory.told.begin(fq)
	memory.waiting.Store(len(s.decision.Fleet.Waiting) > 0)
	if s.decision.Removed {
		r.forget(fq.UID)
		r.Records.Forget(req.NamespacedName)
		r.Limits.forget(req.NamespacedName)
		return ctrl.Result{}, r.removeFinalizer(ctx, fq)
	}
	r.heardOf(s)
	if err := r.store(ctx, s); err != nil {
		if apierrors.IsConflict(err) {
			fencedWrites.Inc()
		}
		return ctrl.Result{}, err
	}
	defer r.record(s) // nobody waits for it
	r.announce(ctx, s)
	r.dropGone(s)
	r.measure(s)
	return r.deliver(ctx, s)
}

// meet gives a FederatedQuota its finalizer: before that there is no ledger. If its birth was attended there cannot
// have been one that was lost, which the first revision says in the status.
func (r *Reconciler) meet(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	if controllerutil.ContainsFinalizer(fq, quotav1alpha1.Finalizer) {
		return nil
	}
	if _, attended := r.births.of(fq.UID); attended && fq.Status.Revision == 0 {
		fq.Status.Revision = ledger.First
		if err := r.Status().Update(ctx, fq); err != nil {
			return err
		}
		r.births.leave(fq, r.Stores.Steady())
	}
	stored := fq.DeepCopy()
	controllerutil.AddFinalizer(fq, quotav1alpha1.Finalizer)
	return r.Patch(ctx, fq, patches.Since(stored))
}

func (r *Reconciler) removeFinalizer(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	stored := fq.DeepCopy()
	controllerutil.RemoveFinalizer(fq, quotav1alpha1.Finalizer)
	patch := patches.Since(stored)
	return client.IgnoreNotFound(r.Patch(ctx, fq, patch))
}
