package validate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Requirement returns what is wrong with the spec of a QuotaRequirement by itself.
func Requirement(spec *quotav1alpha1.QuotaRequirementSpec) field.ErrorList {
	path := field.NewPath("spec")
	problems := selector(path.Child("clusterSelector"), spec.ClusterSelector)
	exempt := spec.ExemptNamespaces.Selector
	problems = append(problems, selector(path.Child("exemptNamespaces", "selector"), exempt)...)
	if exempt != nil && len(exempt.MatchLabels)+len(exempt.MatchExpressions) == 0 {
		problems = append(problems, field.Required(path.Child("exemptNamespaces", "selector"),
			"an empty selector would exempt every namespace: set matchLabels or matchExpressions"))
	}
	for i, name := range spec.Resources {
		if problem := nativequota.Name(corev1.ResourceName(name)); problem != "" { // then no quota can ever cover it
			problems = append(problems, field.Invalid(path.Child("resources").Index(i), name, problem))
		}
	}
	return problems
}
