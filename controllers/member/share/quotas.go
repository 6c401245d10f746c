package share

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// forShare says whether quota is, or may become, the managed ResourceQuota of the share: it is managed or was released,
// and counts what the share counts.
func forShare(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return (nativequota.IsManaged(quota) || nativequota.IsReleased(quota)) && sameScopes(share, quota)
}

// sameScopes says whether quota counts what the share counts, for its lifetime.
func sameScopes(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return nativequota.SameScopes(&corev1.ResourceQuotaSpec{Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}, &quota.Spec)
}

// foreignQuotas names the ResourceQuotas beside the share's that the agent does not manage and that the budget does not
// accept, whatever they count: an API server that has to repeat a write to one of them may admit what another one
// refused. Those that are going are left out.
func (r *Reconciler) foreignQuotas(ctx context.Context, share *quotav1alpha1.QuotaShare, going sets.Set[string]) ([]string, error) {
	var list corev1.ResourceQuotaList
	if err := r.List(ctx, &list, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	silent := going.Union(sets.New(share.Name))
	for _, name := range share.Spec.ExistingQuotas.Accepted {
		silent.Insert(string(name))
	}
	var names []string
	for i := range list.Items {
		quota := &list.Items[i]
		if !nativequota.IsManaged(quota) && !silent.Has(quota.Name) {
			names = append(names, nativequota.Foreign(quota))
		}
	}
	slices.Sort(names)
	return names, nil
}
