// Package managed says which ResourceQuota is a share's or may become it, and how it is written.
package managed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// IsForeign says whether a ResourceQuota neither enforces a share nor did so once.
func IsForeign(quota *corev1.ResourceQuota) bool {
	return !nativequota.IsManaged(quota) && !nativequota.IsReleased(quota)
}

// ForShare says whether quota is, or may become, the managed ResourceQuota of the share: it is managed or was released,
// and counts what the share counts.
func ForShare(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return (nativequota.IsManaged(quota) || nativequota.IsReleased(quota)) && SameScopes(share, quota)
}

// SameScopes says whether quota counts what the share counts, for its lifetime.
func SameScopes(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return nativequota.SameScopes(
		&corev1.ResourceQuotaSpec{Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}, &quota.Spec,
	)
}

// Covers says whether the share counts all that quota limits.
func Covers(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return SameScopes(share, quota) &&
		len(quotav1.Mask(quota.Spec.Hard, quotav1.ResourceNames(share.Spec.Hard))) == len(quota.Spec.Hard)
}

// Beyond names what quota limits and the share does not.
func Beyond(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) []string {
	var names []string
	for name := range quota.Spec.Hard {
		if _, limited := share.Spec.Hard[name]; !limited {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// MayTakeOver says whether the hub lets the agent make a foreign quota the share's own, as it is: its limit is granted.
func MayTakeOver(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	allowed := share.Spec.TakeOver
	if allowed == nil || allowed.UID != string(quota.UID) || !IsForeign(quota) || !quota.DeletionTimestamp.IsZero() ||
		!Covers(share, quota) {
		return false
	}
	within, _ := quotav1.LessThanOrEqual(quota.Spec.Hard, allowed.Hard)
	return within && len(quotav1.Mask(quota.Spec.Hard, quotav1.ResourceNames(allowed.Hard))) == len(quota.Spec.Hard)
}

// Inherited returns what predecessors leave: what is used of the names that they limit, as far as their limits go. A
// share whose usage is not counted yet begins with that. At zero it would refuse what took the place of a pod that went
// meanwhile.
func Inherited(left []corev1.ResourceQuota) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for i := range left {
		for name, limit := range left[i].Spec.Hard {
			if used := left[i].Status.Used[name]; used.Cmp(limit) < 0 {
				limit = used
			}
			if other, found := usage[name]; !found || limit.Cmp(other) < 0 {
				usage[name] = limit
			}
		}
	}
	return usage
}
