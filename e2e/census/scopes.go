package census

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// scope is one that an object has to match to be counted.
type scope = corev1.ScopedResourceSelectorRequirement

// requiredOf returns the scopes of a quota, all of which an object has to match, however they are written.
func requiredOf(plain []corev1.ResourceQuotaScope, selector *corev1.ScopeSelector) []scope {
	var scopes []scope
	for _, name := range plain {
		scopes = append(scopes, scope{ScopeName: name, Operator: corev1.ScopeSelectorOpExists})
	}
	if selector != nil {
		scopes = append(scopes, selector.MatchExpressions...)
	}
	return scopes
}

// within charges nothing for an object that does not match all scopes.
func within[T any](scopes []scope, matches func(T, scope) bool, of cost[T]) cost[T] {
	return func(object T, name corev1.ResourceName) resource.Quantity {
		if slices.ContainsFunc(scopes, func(s scope) bool { return !matches(object, s) }) {
			return resource.Quantity{}
		}
		return of(object, name)
	}
}

// podMatches believes the API server about the QoS class, which it computes once and for all at creation.
func podMatches(pod *corev1.Pod, s scope) bool {
	ends := pod.Spec.ActiveDeadlineSeconds != nil
	switch s.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return ends
	case corev1.ResourceQuotaScopeNotTerminating:
		return !ends
	case corev1.ResourceQuotaScopeBestEffort:
		return pod.Status.QOSClass == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return pod.Status.QOSClass != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		return classMatches(s, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return slices.ContainsFunc(
			affinityTerms(pod),
			func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil },
		)
	default:
		return false
	}
}

func affinityTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, weighted := range preferred {
			terms = append(terms, weighted.PodAffinityTerm)
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil {
		if to := affinity.PodAffinity; to != nil {
			add(to.RequiredDuringSchedulingIgnoredDuringExecution, to.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if from := affinity.PodAntiAffinity; from != nil {
			add(from.RequiredDuringSchedulingIgnoredDuringExecution, from.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	return terms
}

// claimMatches takes a claim for each class that it has, had, or shall have.
func claimMatches(claim *corev1.PersistentVolumeClaim, s scope) bool {
	if s.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false
	}
	classes := []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName}
	if modified := claim.Status.ModifyVolumeStatus; modified != nil {
		classes = append(classes, &modified.TargetVolumeAttributesClassName)
	}
	classes = slices.DeleteFunc(classes, func(class *string) bool { return class == nil || *class == "" })
	if len(classes) == 0 {
		return classMatches(s, "")
	}
	return slices.ContainsFunc(classes, func(class *string) bool { return classMatches(s, *class) })
}

// operators are those of scopes, as selectors of labels have them.
var operators = map[corev1.ScopeSelectorOperator]selection.Operator{
	corev1.ScopeSelectorOpIn: selection.In, corev1.ScopeSelectorOpNotIn: selection.NotIn,
	corev1.ScopeSelectorOpExists: selection.Exists, corev1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
}

// classMatches takes the scope for a selector of labels, as native quota does, and no class for a label that is
// missing.
func classMatches(s scope, class string) bool {
	key, has := string(s.ScopeName), labels.Set{}
	if class != "" {
		has[key] = class
	}
	requirement, err := labels.NewRequirement(key, operators[s.Operator], s.Values)
	return err == nil && requirement.Matches(has)
}
