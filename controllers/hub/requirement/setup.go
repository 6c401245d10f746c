package requirement

import (
	"context"

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
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/predicates"
	"github.com/fedquota/fedquota/controllers/requests"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotarequirements,verbs=list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotarequirements/status,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=clusters,verbs=list;watch

// changed lets through a QuotaRequirement that demands something else, or goes.
var changed = predicates.Changed(func(r *quotav1alpha1.QuotaRequirement) any { return r.Spec })

// otherCluster lets through a Cluster that may be selected otherwise, or that is said to be destroyed. Other
// annotations are none of its business: budgets mark each Cluster again and again.
var otherCluster = predicate.Or(
	predicate.LabelChangedPredicate{},
	predicate.GenerationChangedPredicate{},
	members.StatedDestroyed,
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			!e.ObjectOld.GetDeletionTimestamp().Equal(e.ObjectNew.GetDeletionTimestamp())
	}},
)

// SetupWithManager registers the enforcer.
func (e *Enforcer) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return e.Build(mgr, "requirement-members", options, otherCluster).
		Watches(&quotav1alpha1.QuotaRequirement{}, handler.EnqueueRequestsFromMapFunc(e.clusters),
			builder.WithPredicates(changed)).
		Complete(e)
}

// clusters returns all Clusters: each may be one that a QuotaRequirement selects, or has selected before.
func (e *Enforcer) clusters(ctx context.Context, _ client.Object) []ctrl.Request {
	clusters, err := e.Clusters.List(ctx, e, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters")
		return nil
	}
	all := make([]ctrl.Request, 0, len(clusters))
	for _, cluster := range clusters {
		all = append(all, requests.For(cluster))
	}
	return all
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []ctrl.Request {
		each := func(*quotav1alpha1.QuotaRequirement) bool { return true }
		return requests.Those(ctx, r, &quotav1alpha1.QuotaRequirementList{}, each)
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("requirement").
		For(&quotav1alpha1.QuotaRequirement{},
			builder.WithPredicates(predicate.Or(changed, predicate.LabelChangedPredicate{}))).
		Watches(&clusterv1.Cluster{}, all, builder.WithPredicates(otherCluster)).
		WatchesRawSource(source.Channel(r.Enforcer.Wake, all)).
		WithOptions(options).
		Complete(r)
}
