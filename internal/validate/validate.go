// Package validate says what is wrong with a FederatedQuota beyond what its schema can say. Every error names the field,
// the value and what would be valid.
package validate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Spec returns what is wrong with a spec by itself.
func Spec(spec *quotav1alpha1.FederatedQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	problems := resources(path.Child("hard"), spec.Hard)
	problems = append(problems, resources(path.Child("reserve"), spec.Reserve)...)
	problems = append(problems, within(path.Child("reserve"), spec.Reserve, "spec.hard", spec.Hard)...)
	problems = append(problems, scopes(path, spec)...)
	problems = append(problems, selector(path.Child("placement", "clusterSelector"), spec.Placement.ClusterSelector)...)
	for i := range spec.Distribution.Rules {
		problems = append(problems, rule(path.Child("distribution", "rules").Index(i), &spec.Distribution.Rules[i], spec.Hard)...)
	}
	return problems
}

func rule(path *field.Path, r *quotav1alpha1.DistributionRule, hard corev1.ResourceList) field.ErrorList {
	problems := selector(path.Child("clusterSelector"), r.ClusterSelector)
	problems = append(problems, resources(path.Child("min"), r.Min)...)
	problems = append(problems, resources(path.Child("max"), r.Max)...)
	problems = append(problems, known(path.Child("min"), r.Min, hard)...)
	problems = append(problems, known(path.Child("max"), r.Max, hard)...)
	problems = append(problems, within(path.Child("min"), r.Min, path.Child("max").String(), r.Max)...)
	return append(problems, within(path.Child("min"), r.Min, "spec.hard", hard)...)
}

func selector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(s), err.Error())}
	}
	return nil
}

// resources checks names and quantities as a ResourceQuota does, and refuses the names that it would take and never count.
func resources(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, name := range names(list) {
		q := list[name]
		if problem := Name(name); problem != "" {
			problems = append(problems, field.Invalid(path.Key(string(name)), string(name), problem))
			continue
		}
		if _, err := amount.FromQuantity(name, q, amount.Down); err != nil {
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(), strings.TrimPrefix(err.Error(), q.String()+" ")))
			continue
		}
		if integer(name) && !whole(name, q) {
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(), "must be a whole number: objects are counted"))
		}
	}
	return problems
}

// whole says whether a quantity is a multiple of the unit of its name.
func whole(name corev1.ResourceName, q resource.Quantity) bool {
	down, errDown := amount.FromQuantity(name, q, amount.Down)
	up, errUp := amount.FromQuantity(name, q, amount.Up)
	return errDown == nil && errUp == nil && down == up
}

// within checks that no quantity of list is above the one of the same name in bound.
func within(path *field.Path, list corev1.ResourceList, boundName string, bound corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, name := range names(list) {
		q := list[name]
		if limit, ok := bound[name]; ok && q.Cmp(limit) > 0 {
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(), fmt.Sprintf("must be at most %s[%s], which is %s", boundName, name, limit.String())))
		}
	}
	return problems
}

// known checks that list names only resources that hard names.
func known(path *field.Path, list, hard corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, name := range names(list) {
		if _, ok := hard[name]; !ok {
			problems = append(problems, field.NotSupported(path.Key(string(name)), string(name), names(hard)))
		}
	}
	return problems
}

func names(list corev1.ResourceList) []corev1.ResourceName {
	sorted := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}
