package agents

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/predicates"
)

// SetupWithManager registers the reconciler.
func (i *Installer) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agents").
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&quotav1alpha1.FederatedQuota{}, handler.EnqueueRequestsFromMapFunc(i.concerned), builder.WithPredicates(
			predicates.Changed(func(quota *quotav1alpha1.FederatedQuota) any { return entriesOf(quota) }))).
		Watches(&quotav1alpha1.QuotaRequirement{}, handler.EnqueueRequestsFromMapFunc(i.requiring), builder.WithPredicates(
			predicates.Changed(func(requirement *quotav1alpha1.QuotaRequirement) any { return clustersOf(requirement) }))).
		WatchesRawSource(i.Members.GetClusterSource("agents", func(_ context.Context, cluster client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(cluster)}}
		})).
		WithOptions(options).
		Complete(i)
}

// concerned returns the Clusters of a FederatedQuota that nothing was looked at yet, or that may lack something.
func (i *Installer) concerned(_ context.Context, object client.Object) []ctrl.Request {
	return i.requests(entriesOf(object.(*quotav1alpha1.FederatedQuota)))
}

// requiring returns the same of a QuotaRequirement.
func (i *Installer) requiring(_ context.Context, object client.Object) []ctrl.Request {
	return i.requests(clustersOf(object.(*quotav1alpha1.QuotaRequirement)))
}

func (i *Installer) requests(entries map[string]bool) []ctrl.Request {
	var requests []ctrl.Request
	for name, suspicious := range entries {
		if key := i.Clusters.Key(name); i.Clusters.Has(key) && (suspicious || !i.knows(name)) {
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
	}
	return requests
}

// entriesOf returns the names of the Clusters of a FederatedQuota, and whether they may lack something.
func entriesOf(quota *quotav1alpha1.FederatedQuota) map[string]bool {
	entries := make(map[string]bool, len(quota.Status.Clusters))
	for _, c := range quota.Status.Clusters {
		entries[string(c.Name)] = suspicious(c)
	}
	return entries
}
