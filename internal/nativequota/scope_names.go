package nativequota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Scopes are those of a ResourceQuota.
var Scopes = sets.New(
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
)

// ValuedScopes are those that need an operator which takes values.
var ValuedScopes = sets.New(corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass)

// The standard names that a ResourceQuota takes together with a scope of pods, with BestEffort, and with a scope of
// volume claims.
var (
	podNames = sets.New(
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	)
	bestEffortNames = sets.New(corev1.ResourcePods)
	volumeNames     = sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
)

// OutOfScope returns the names to which a scope applies if name is none of them. A ResourceQuota refuses standard names
// that are out of scope, and never counts others.
func OutOfScope(scope corev1.ResourceQuotaScope, name corev1.ResourceName) string {
	s := string(name)
	standard, other, valid := podNames, s == countPods ||
		strings.Contains(s, "/") && strings.HasPrefix(s, requestsPrefix), countPods+" and requests.EXTENDED-RESOURCE"
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		standard = bestEffortNames
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		standard, other, valid = volumeNames, s == countClaims ||
			strings.Contains(s, storageClassInfix), countClaims+" and CLASS"+storageClassInfix+"…"
	}
	if standard.Has(name) || other {
		return ""
	}
	return join(standard) + ", " + valid
}

func join(set sets.Set[corev1.ResourceName]) string {
	sorted := make([]string, 0, len(set))
	for name := range set {
		sorted = append(sorted, string(name))
	}
	slices.Sort(sorted)
	return strings.Join(sorted, ", ")
}
