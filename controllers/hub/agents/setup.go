package agents

import (
	"context"
	"iter"
	"maps"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/predicates"
)

// SetupWithManager registers the controller.
func (i *Installer) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	quotas := predicates.Changed(func(q *quotav1alpha1.FederatedQuota) any { return maps.Collect(entriesOf(q)) })
	requirements := predicates.Changed(func(r *quotav1alpha1.QuotaRequirement) any { return maps.Collect(clustersOf(r)) })
	return i.Build(mgr, "agents", options, predicate.GenerationChangedPredicate{}).
		Watches(&quotav1alpha1.FederatedQuota{}, handler.EnqueueRequestsFromMapFunc(i.concerned),
			builder.WithPredicates(quotas)).
		Watches(&quotav1alpha1.QuotaRequirement{}, handler.EnqueueRequestsFromMapFunc(i.requiring),
			builder.WithPredicates(requirements)).
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

func (i *Installer) requests(entries iter.Seq2[string, bool]) []ctrl.Request {
	var requests []ctrl.Request
	for name, suspicious := range entries {
		_, known := i.Known(name)
		if key := i.Clusters.Key(name); i.Clusters.Has(key) && (suspicious || !known) {
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
	}
	return requests
}
