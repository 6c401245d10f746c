package validate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
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
			problems = append(
				problems,
				field.Invalid(
					contradicting(path, spec), fmt.Sprint(sets.List(set)),
					fmt.Sprintf("nothing matches both %s and %s: use one of them", pair[0], pair[1]),
				),
			)
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

func scopeName(
	path *field.Path, scope corev1.ResourceQuotaScope, spec *quotav1alpha1.FederatedQuotaSpec,
) field.ErrorList {
	if !nativequota.Scopes.Has(scope) {
		return field.ErrorList{field.NotSupported(path, scope, sets.List(nativequota.Scopes))}
	}
	var problems field.ErrorList
	for _, name := range names(spec.Hard) {
		if valid := nativequota.OutOfScope(scope, name); valid != "" && nativequota.Name(name) == "" {
			problems = append(
				problems,
				field.Invalid(path, string(scope), fmt.Sprintf("does not apply to spec.hard[%s]: it applies to %s", name, valid)),
			)
		}
	}
	return problems
}

func scopeOperator(path *field.Path, r corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	valued := r.Operator == corev1.ScopeSelectorOpIn || r.Operator == corev1.ScopeSelectorOpNotIn
	exists := r.Operator == corev1.ScopeSelectorOpExists || r.Operator == corev1.ScopeSelectorOpDoesNotExist
	switch {
	case !valued && !exists:
		return field.ErrorList{
			field.NotSupported(
				path.Child("operator"), r.Operator, []corev1.ScopeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"},
			),
		}
	case !nativequota.ValuedScopes.Has(r.ScopeName) && r.Operator != corev1.ScopeSelectorOpExists:
		return field.ErrorList{
			field.Invalid(path.Child("operator"), r.Operator, fmt.Sprintf("must be Exists for scope %s", r.ScopeName)),
		}
	case valued && len(r.Values) == 0:
		return field.ErrorList{
			field.Required(path.Child("values"), fmt.Sprintf("operator %s needs at least one value", r.Operator)),
		}
	case exists && len(r.Values) > 0:
		return field.ErrorList{
			field.Invalid(
				path.Child("values"), strings.Join(r.Values, ","), fmt.Sprintf("must be empty for operator %s", r.Operator),
			),
		}
	}
	return nil
}

// InScope says whether the scopes of a spec count objects under a name.
func InScope(spec *quotav1alpha1.FederatedQuotaSpec, name corev1.ResourceName) bool {
	for _, scope := range spec.Scopes {
		if nativequota.OutOfScope(scope, name) != "" {
			return false
		}
	}
	if spec.ScopeSelector != nil {
		for _, requirement := range spec.ScopeSelector.MatchExpressions {
			if nativequota.OutOfScope(requirement.ScopeName, name) != "" {
				return false
			}
		}
	}
	return true
}
