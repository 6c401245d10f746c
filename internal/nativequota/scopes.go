package nativequota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// SameScopes says whether two quotas count the same objects, however that is written: no scope and an empty selector
// mean the same.
func SameScopes(a, b *corev1.ResourceQuotaSpec) bool {
	return requirements(a).Equal(requirements(b))
}

// requirements returns what objects have to match. A scope is short for one that exists.
func requirements(quota *corev1.ResourceQuotaSpec) sets.Set[string] {
	set := sets.New[string]()
	add := func(scope corev1.ResourceQuotaScope, operator corev1.ScopeSelectorOperator, values []string) {
		set.Insert(fmt.Sprintf("%s %s %q", scope, operator, sets.List(sets.New(values...))))
	}
	for _, scope := range quota.Scopes {
		add(scope, corev1.ScopeSelectorOpExists, nil)
	}
	if quota.ScopeSelector != nil {
		for _, r := range quota.ScopeSelector.MatchExpressions {
			add(r.ScopeName, r.Operator, r.Values)
		}
	}
	return set
}

// GoesByDeadline says whether a quota of these scopes counts a pod by its activeDeadlineSeconds, which an update may
// set.
func GoesByDeadline(scopes []corev1.ResourceQuotaScope, selector *corev1.ScopeSelector) bool {
	by := func(scope corev1.ResourceQuotaScope) bool {
		return scope == corev1.ResourceQuotaScopeTerminating || scope == corev1.ResourceQuotaScopeNotTerminating
	}
	return slices.ContainsFunc(scopes, by) || selector != nil && slices.ContainsFunc(selector.MatchExpressions,
		func(r corev1.ScopedResourceSelectorRequirement) bool { return by(r.ScopeName) })
}

// Matches says whether a quota of these scopes counts the object.
func Matches(quota *corev1.ResourceQuotaSpec, gr schema.GroupResource, object any) bool {
	for _, scope := range quota.Scopes {
		if !matches(
			corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, gr, object,
		) {
			return false
		}
	}
	if quota.ScopeSelector == nil {
		return true
	}
	for _, requirement := range quota.ScopeSelector.MatchExpressions {
		if !matches(requirement, gr, object) {
			return false
		}
	}
	return true
}

func matches(requirement corev1.ScopedResourceSelectorRequirement, gr schema.GroupResource, object any) bool {
	switch gr {
	case Pods:
		pod, ok := object.(*corev1.Pod)
		return ok && podMatches(requirement, pod)
	case Claims:
		claim, ok := object.(*corev1.PersistentVolumeClaim)
		return ok && requirement.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass &&
			anyMatches(requirement, attributesClasses(claim))
	default:
		return false
	}
}

func podMatches(requirement corev1.ScopedResourceSelectorRequirement, pod *corev1.Pod) bool {
	terminating := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
	switch requirement.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return terminating
	case corev1.ResourceQuotaScopeNotTerminating:
		return !terminating
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		return anyMatches(requirement, []string{pod.Spec.PriorityClassName})
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return pod.Spec.Affinity != nil && acrossNamespaces(pod.Spec.Affinity)
	default:
		return false
	}
}

// anyMatches says whether one of an object's classes is as required; an empty name is none.
func anyMatches(requirement corev1.ScopedResourceSelectorRequirement, classes []string) bool {
	classes = slices.DeleteFunc(slices.Clone(classes), func(class string) bool { return class == "" })
	in := slices.ContainsFunc(classes, func(class string) bool { return slices.Contains(requirement.Values, class) })
	switch requirement.Operator {
	case corev1.ScopeSelectorOpExists:
		return len(classes) > 0
	case corev1.ScopeSelectorOpDoesNotExist:
		return len(classes) == 0
	case corev1.ScopeSelectorOpIn:
		return in
	case corev1.ScopeSelectorOpNotIn:
		// A label selector's NotIn holds for what has no class, too.
		return len(classes) == 0 ||
			slices.ContainsFunc(classes, func(class string) bool { return !slices.Contains(requirement.Values, class) })
	default:
		return false
	}
}

// acrossNamespaces says whether a pod is placed by pods of other namespaces.
func acrossNamespaces(affinity *corev1.Affinity) bool {
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if near := affinity.PodAffinity; near != nil {
		terms = append(terms, near.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, near.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if apart := affinity.PodAntiAffinity; apart != nil {
		terms = append(terms, apart.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, apart.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range weighted {
		terms = append(terms, weighted[i].PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool {
		return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
	})
}
