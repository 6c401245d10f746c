package validate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// allScopes are the scopes of a ResourceQuota. Those with values need an operator that takes them.
var allScopes = sets.New(
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
)

var valuedScopes = sets.New(corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass)

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

// scopes checks scopes and scopeSelector as a ResourceQuota does.
func scopes(path *field.Path, spec *quotav1alpha1.FederatedQuotaSpec) field.ErrorList {
	var problems field.ErrorList
	set := sets.New[corev1.ResourceQuotaScope]()
	for i, scope := range spec.Scopes {
		problems = append(problems, scopeName(path.Child("scopes").Index(i), scope, spec)...)
		set.Insert(scope)
	}
	if spec.ScopeSelector != nil {
		for i, requirement := range spec.ScopeSelector.MatchExpressions {
			at := path.Child("scopeSelector", "matchExpressions").Index(i)
			problems = append(problems, scopeName(at.Child("scopeName"), requirement.ScopeName, spec)...)
			problems = append(problems, scopeOperator(at, requirement)...)
			set.Insert(requirement.ScopeName)
		}
	}
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
	} {
		if set.HasAll(pair[0], pair[1]) {
			problems = append(problems, field.Invalid(contradicting(path, spec), fmt.Sprint(sets.List(set)), fmt.Sprintf("nothing matches both %s and %s: use one of them", pair[0], pair[1])))
		}
	}
	return problems
}

// contradicting returns the field that names scopes, the selector if both do.
func contradicting(path *field.Path, spec *quotav1alpha1.FederatedQuotaSpec) *field.Path {
	if spec.ScopeSelector == nil {
		return path.Child("scopes")
	}
	return path.Child("scopeSelector")
}

func scopeName(path *field.Path, scope corev1.ResourceQuotaScope, spec *quotav1alpha1.FederatedQuotaSpec) field.ErrorList {
	if !allScopes.Has(scope) {
		return field.ErrorList{field.NotSupported(path, scope, sets.List(allScopes))}
	}
	var problems field.ErrorList
	for _, name := range names(spec.Hard) {
		if valid := outOfScope(scope, name); valid != "" && Name(name) == "" {
			problems = append(problems, field.Invalid(path, string(scope), fmt.Sprintf("does not apply to spec.hard[%s]: it applies to %s", name, valid)))
		}
	}
	return problems
}

// outOfScope returns the names to which a scope applies if name is none of them. A ResourceQuota refuses standard names
// that are out of scope, and never counts others.
func outOfScope(scope corev1.ResourceQuotaScope, name corev1.ResourceName) string {
	s := string(name)
	standard, other, valid := podNames, s == countPods || strings.Contains(s, "/") && strings.HasPrefix(s, requestsPrefix), countPods+" and requests.EXTENDED-RESOURCE"
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		standard = bestEffortNames
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		standard, other, valid = volumeNames, s == countClaims || strings.Contains(s, storageClassInfix), countClaims+" and CLASS"+storageClassInfix+"…"
	}
	if standard.Has(name) || other {
		return ""
	}
	return join(standard) + ", " + valid
}

func scopeOperator(path *field.Path, r corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	valued := r.Operator == corev1.ScopeSelectorOpIn || r.Operator == corev1.ScopeSelectorOpNotIn
	exists := r.Operator == corev1.ScopeSelectorOpExists || r.Operator == corev1.ScopeSelectorOpDoesNotExist
	switch {
	case !valued && !exists:
		return field.ErrorList{field.NotSupported(path.Child("operator"), r.Operator, []corev1.ScopeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"})}
	case !valuedScopes.Has(r.ScopeName) && r.Operator != corev1.ScopeSelectorOpExists:
		return field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, fmt.Sprintf("must be Exists for scope %s", r.ScopeName))}
	case valued && len(r.Values) == 0:
		return field.ErrorList{field.Required(path.Child("values"), fmt.Sprintf("operator %s needs at least one value", r.Operator))}
	case exists && len(r.Values) > 0:
		return field.ErrorList{field.Invalid(path.Child("values"), strings.Join(r.Values, ","), fmt.Sprintf("must be empty for operator %s", r.Operator))}
	}
	return nil
}

func join(set sets.Set[corev1.ResourceName]) string {
	sorted := make([]string, 0, len(set))
	for name := range set {
		sorted = append(sorted, string(name))
	}
	slices.Sort(sorted)
	return strings.Join(sorted, ", ")
}
