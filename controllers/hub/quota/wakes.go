package quota

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
)

// newcomers keeps back events of objects that were there before: each FederatedQuota has a round after a start anyway.
var newcomers = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

// statedDestroyed lets through a Cluster that is said to be destroyed, or is not any more.
var statedDestroyed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetAnnotations()[quotav1alpha1.DestroyedAnnotation] != e.ObjectNew.GetAnnotations()[quotav1alpha1.DestroyedAnnotation]
}}

func (r *Reconciler) allQuotas(ctx context.Context, _ client.Object) []ctrl.Request {
	return r.quotas(ctx, func(*quotav1alpha1.FederatedQuota) bool { return true })
}

// concerned returns the FederatedQuotas to which a Cluster matters. What this leaves out is found by the round that each has anyway.
func (r *Reconciler) concerned(ctx context.Context, object client.Object) []ctrl.Request {
	cluster, ok := object.(*clusterv1.Cluster)
	return r.quotas(ctx, func(fq *quotav1alpha1.FederatedQuota) bool { return !ok || input.Concerns(fq, cluster) })
}

// siblings returns the other FederatedQuotas of a namespace: a conflict with one that changes or goes may have ended.
func (r *Reconciler) siblings(ctx context.Context, quota client.Object) []ctrl.Request {
	others := func(fq *quotav1alpha1.FederatedQuota) bool { return fq.Name != quota.GetName() }
	return r.quotas(ctx, others, client.InNamespace(quota.GetNamespace()))
}

// quotas returns those FederatedQuotas of this shard that are wanted. It copies none: there is an event for each member, and each may be large.
func (r *Reconciler) quotas(ctx context.Context, wanted func(*quotav1alpha1.FederatedQuota) bool, options ...client.ListOption) []ctrl.Request {
	var list quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list FederatedQuotas")
		return nil
	}
	requests := make([]ctrl.Request, 0, len(list.Items))
	for i := range list.Items {
		if r.ours(&list.Items[i]) && wanted(&list.Items[i]) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
