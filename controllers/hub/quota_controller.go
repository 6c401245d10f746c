// Package hub holds the controllers of the hub manager.
package hub

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

// QuotaReconciler is the only writer of the ledger: it reads what members report, decides their targets, stores the ledger
// with one compare-and-swap, and only then writes shares.
type QuotaReconciler struct {
	client.Client
	// Live reads from the API server: what a raise is decided on does not come from a cache.
	Live client.Reader
	// Members connects to members.
	Members clustercache.ClusterCache
	// ClusterNamespace is where the Clusters are.
	ClusterNamespace string
	// AgentNamespace is where the agents run in members, Identity what the hub manager renews the Lease there as.
	AgentNamespace, Identity string
	// Clock says since when.
	Clock clock.PassiveClock
	// Recorder writes events on FederatedQuotas.
	Recorder events.EventRecorder

	watcher  clustercache.SourceWatcher[ctrl.Request]
	stores   stores
	silences silences
	// memberTimeout is pace.MemberTimeout, but for tests.
	memberTimeout time.Duration
	memories      sync.Map // of *memory, by UID
	histories     sync.Map // of *history, by shareKey
}

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas/status,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=clusters,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",namespace=default,resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the reconciler.
func (r *QuotaReconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	all := handler.EnqueueRequestsFromMapFunc(r.allQuotas)
	changed := builder.WithPredicates(rollback.Changed(func(quota *quotav1alpha1.FederatedQuota) any { return quota.Spec }))
	r.stores.wake = make(chan event.GenericEvent)
	r.memberTimeout = pace.MemberTimeout
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("quota").
		For(&quotav1alpha1.FederatedQuota{}, changed).
		Watches(&quotav1alpha1.FederatedQuota{}, handler.EnqueueRequestsFromMapFunc(r.siblings), changed).
		Watches(&clusterv1.Cluster{}, all, builder.WithPredicates(predicate.Or(
			predicate.LabelChangedPredicate{}, predicate.GenerationChangedPredicate{}))).
		WatchesRawSource(r.Members.GetClusterSource("quota", r.allQuotas, clustercache.WatchForProbeFailure(pace.UnreachableAfter))).
		WatchesRawSource(source.Channel(r.stores.wake, all)).
		WithOptions(options).
		Build(r)
	if err != nil {
		return err
	}
	r.watcher = c
	if err := mgr.Add(manager.RunnableFunc(r.renewLeases)); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(r.watchStores))
}

func (r *QuotaReconciler) allQuotas(ctx context.Context, _ client.Object) []ctrl.Request {
	return r.quotas(ctx)
}

// siblings returns the other FederatedQuotas of a namespace: a conflict with one that changes or goes may have ended.
func (r *QuotaReconciler) siblings(ctx context.Context, quota client.Object) []ctrl.Request {
	return slices.DeleteFunc(r.quotas(ctx, client.InNamespace(quota.GetNamespace())), func(request ctrl.Request) bool {
		return request.Name == quota.GetName()
	})
}

func (r *QuotaReconciler) quotas(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	var list quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list FederatedQuotas")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile makes one round: gather, decide, store, deliver.
func (r *QuotaReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := r.Live.Get(ctx, req.NamespacedName, fq); err != nil {
		if apierrors.IsNotFound(err) {
			forgetSeries(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if fq.DeletionTimestamp.IsZero() {
		if err := r.addFinalizer(ctx, fq); err != nil {
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
	r.await(s)
	if s.decision.Removed {
		r.forget(fq.UID)
		return ctrl.Result{}, r.removeFinalizer(ctx, fq)
	}
	if err := r.store(ctx, s); err != nil {
		if apierrors.IsConflict(err) {
			fencedWrites.Inc()
		}
		return ctrl.Result{}, err
	}
	if slices.ContainsFunc(fq.Status.Clusters, func(c quotav1alpha1.ClusterStatus) bool { return c.Revision > 0 }) {
		r.memoryOf(fq.UID).newborn = false // a ledger that tells of nobody is one that was lost, from now on
	}
	r.dropGone(s)
	r.measure(s)
	return r.deliver(ctx, s)
}

func (r *QuotaReconciler) addFinalizer(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	stored := fq.DeepCopy()
	if !controllerutil.AddFinalizer(fq, quotav1alpha1.Finalizer) {
		return nil
	}
	r.memoryOf(fq.UID).newborn = true
	return r.Patch(ctx, fq, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
}

func (r *QuotaReconciler) removeFinalizer(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	stored := fq.DeepCopy()
	controllerutil.RemoveFinalizer(fq, quotav1alpha1.Finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, fq, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})))
}
