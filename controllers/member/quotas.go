package member

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

func managed(quota *corev1.ResourceQuota) bool {
	_, ok := quota.Labels[quotav1alpha1.ManagedLabel]
	return ok
}

// forShare says whether quota is, or may become, the managed ResourceQuota of the share: it is managed or was released, and
// counts what the share counts.
func forShare(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	_, released := quota.Annotations[quotav1alpha1.ReleasedAnnotation]
	return (managed(quota) || released) && sameScopes(share, quota)
}

// sameScopes says whether quota has the scopes of the share, which it keeps for its lifetime.
func sameScopes(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return sets.New(share.Spec.Scopes...).Equal(sets.New(quota.Spec.Scopes...)) &&
		equality.Semantic.DeepEqual(share.Spec.ScopeSelector, quota.Spec.ScopeSelector)
}

// brokenGlass returns the reason for which somebody took the ResourceQuota out of the agent's hands, or "".
func brokenGlass(quota *corev1.ResourceQuota) string {
	return strings.TrimSpace(quota.Annotations[quotav1alpha1.BreakGlassAnnotation])
}

// uncounted returns the names in spec.hard that the quota controller has taken over but counts nothing under.
func uncounted(quota *corev1.ResourceQuota) []string {
	var names []string
	for name := range quota.Spec.Hard {
		_, limited := quota.Status.Hard[name]
		if _, known := quota.Status.Used[name]; limited && !known {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// foreignQuotas returns the names of the ResourceQuotas beside the share's that the agent does not manage, whatever they count: an API
// server that has to repeat a write to one of them may admit what another one refused.
func (r *ShareReconciler) foreignQuotas(ctx context.Context, share *quotav1alpha1.QuotaShare) ([]string, error) {
	var list corev1.ResourceQuotaList
	if err := r.List(ctx, &list, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		quota := &list.Items[i]
		if !managed(quota) && quota.Name != share.Name {
			names = append(names, quota.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
