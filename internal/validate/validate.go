// Package validate says what is wrong with a FederatedQuota, a QuotaPool or a QuotaRequirement beyond what its schema
// can say. Every error names the field, the value and what would be valid.
package validate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Spec returns what is wrong with a spec by itself.
func Spec(spec *quotav1alpha1.FederatedQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	listed := limited(spec.Hard, spec.Capacity)
	problems := resources(path.Child("hard"), spec.Hard)
	problems = append(problems, following(path.Child("capacity"), spec.Hard, spec.Capacity)...)
	problems = append(problems, resources(path.Child("reserve"), spec.Reserve)...)
	problems = append(problems, known(path.Child("reserve"), spec.Reserve, listed)...)
	problems = append(problems, within(path.Child("reserve"), spec.Reserve, "spec.hard", spec.Hard)...)
	problems = append(problems, scopes(path, spec)...)
	problems = append(problems, selector(path.Child("placement", "clusterSelector"), spec.Placement.ClusterSelector)...)
	problems = append(
		problems,
		metadata(path.Child("placement", "namespaceTemplate"), &spec.Placement.NamespaceTemplate)...)
	grains := spec.Distribution.Granularity
	problems = append(problems, granularity(path.Child("distribution", "granularity"), grains, listed)...)
	for i := range spec.Distribution.Rules {
		at, r := path.Child("distribution", "rules").Index(i), &spec.Distribution.Rules[i]
		problems = append(problems, selector(at.Child("clusterSelector"), r.ClusterSelector)...)
		problems = append(problems, bounded(at, &r.RuleTerms, listed, grains)...)
	}
	return problems
}

// MostNames is how many resource names a budget has room for in status.
const MostNames = 32

// following checks the names that follow the nodes, and whether nodes can be added for any.
func following(path *field.Path, hard corev1.ResourceList, rule *quotav1alpha1.Capacity) field.ErrorList {
	var problems field.ErrorList
	if rule == nil {
		return problems
	}
	for i, listed := range rule.Resources {
		name := corev1.ResourceName(listed)
		if nativequota.Name(name) != "" || nativequota.OfNode(name) == "" {
			problems = append(problems, field.Invalid(path.Child("resources").Index(i), name,
				"nodes have nothing of that: valid are names such as requests.cpu, pods or requests.nvidia.com/gpu"))
		}
	}
	if all := len(limited(hard, rule)); all > MostNames {
		problems = append(problems, field.Invalid(path.Child("resources"), len(rule.Resources), fmt.Sprintf(
			"with those of spec.hard there would be %d resources, and at most %d have room: name fewer", all, MostNames)))
	}
	return append(problems, scalingOut(path.Child("scaleOut"), hard, rule)...)
}

// scalingOut checks what nodes are added for.
func scalingOut(path *field.Path, hard corev1.ResourceList, rule *quotav1alpha1.Capacity) field.ErrorList {
	if rule.ScaleOut == nil {
		return nil
	}
	problems := selector(path.Child("machineDeploymentSelector"), rule.ScaleOut.MachineDeploymentSelector)
	if len(capacity.Names(hard, rule)) == 0 {
		problems = append(problems, field.Invalid(path, strings.Join(sorted(hard), ", "),
			"no name of the budget follows the nodes, so none would ever be added: "+
				"name some in capacity.resources, such as requests.cpu"))
	}
	return problems
}

// sorted returns the names of a list, in order.
func sorted(list corev1.ResourceList) []string {
	var all []string
	for _, name := range names(list) {
		all = append(all, string(name))
	}
	return all
}

// limited returns hard with the names that only follow the nodes, of which there may be any amount.
func limited(hard corev1.ResourceList, rule *quotav1alpha1.Capacity) corev1.ResourceList {
	listed := maps.Clone(hard)
	for _, name := range capacity.Names(hard, rule) {
		if _, bounded := listed[name]; !bounded {
			if listed == nil {
				listed = corev1.ResourceList{}
			}
			listed[name] = amount.ToQuantity(name, amount.Limit, resource.DecimalSI)
		}
	}
	return listed
}

// metadata checks what namespaces are created with, as native objects do. What the agent notes on namespaces is not for
// others to say.
func metadata(path *field.Path, template *quotav1alpha1.NamespaceTemplate) field.ErrorList {
	problems := metav1validation.ValidateLabels(template.Labels, path.Child("labels"))
	problems = append(problems, apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	for _, key := range slices.Sorted(maps.Keys(template.Annotations)) {
		if strings.HasPrefix(key, quotav1alpha1.GroupVersion.Group+"/") {
			problems = append(problems, field.Forbidden(path.Child("annotations").Key(key), "is for fedquota to set"))
		}
	}
	return problems
}

// granularity checks the steps in which limits come.
func granularity(path *field.Path, grains, hard corev1.ResourceList) field.ErrorList {
	problems := resources(path, grains)
	for _, name := range names(grains) {
		q := grains[name]
		switch {
		case q.Sign() <= 0:
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(), "must be more than 0"))
		case nativequota.Name(name) == "" && uncountable(name, q) == "" && !whole(name, q):
			unit := resource.NewScaledQuantity(1, amount.Scale(name))
			problems = append(
				problems, field.Invalid(path.Key(string(name)), q.String(), "must be a multiple of "+unit.String()),
			)
		}
	}
	problems = append(problems, known(path, grains, hard)...)
	return append(problems, within(path, grains, "spec.hard", hard)...)
}

// multiples checks that the quantities of list are whole steps.
func multiples(path *field.Path, list, grains corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, name := range names(list) {
		q, grain := list[name], grains[name]
		value, err := amount.FromQuantity(name, q, amount.Down)
		step, errStep := amount.FromQuantity(name, grain, amount.Down)
		if err == nil && errStep == nil && step > 0 && value%step != 0 {
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(),
				fmt.Sprintf("must be a multiple of spec.distribution.granularity[%s], which is %s", name, grain.String())))
		}
	}
	return problems
}

// bounded checks the amounts of a rule.
func bounded(path *field.Path, r *quotav1alpha1.RuleTerms, hard, grains corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, list := range []struct {
		name    string
		amounts corev1.ResourceList
	}{{"min", r.Min}, {"lendable", r.Lendable}, {"max", r.Max}, {"headroom", r.Headroom}} {
		problems = append(problems, resources(path.Child(list.name), list.amounts)...)
		problems = append(problems, known(path.Child(list.name), list.amounts, hard)...)
	}
	problems = append(problems, within(path.Child("lendable"), r.Lendable, path.Child("min").String(), r.Min)...)
	problems = append(problems, within(path.Child("min"), r.Min, path.Child("max").String(), r.Max)...)
	problems = append(problems, within(path.Child("headroom"), r.Headroom, path.Child("max").String(), r.Max)...)
	problems = append(problems, within(path.Child("headroom"), r.Headroom, "spec.hard", hard)...)
	problems = append(problems, within(path.Child("min"), r.Min, "spec.hard", hard)...)
	problems = append(problems, multiples(path.Child("min"), r.Min, grains)...)
	problems = append(problems, multiples(path.Child("max"), r.Max, grains)...)
	return append(problems, multiples(path.Child("headroom"), r.Headroom, grains)...)
}

// selector checks a label selector as native objects do, and says which operators there are.
func selector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	var problems field.ErrorList
	for i, e := range s.MatchExpressions {
		if !operators.Has(e.Operator) {
			problems = append(
				problems,
				field.NotSupported(path.Child("matchExpressions").Index(i).Child("operator"), e.Operator, sets.List(operators)),
			)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

var operators = sets.New(
	metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists,
	metav1.LabelSelectorOpDoesNotExist,
)

// resources checks names and quantities as a ResourceQuota does, and refuses the names that it would take and never
// count.
func resources(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var problems field.ErrorList
	for _, name := range names(list) {
		q := list[name]
		if problem := nativequota.Name(name); problem != "" {
			problems = append(problems, field.Invalid(path.Key(string(name)), string(name), problem))
			continue
		}
		if _, err := amount.FromQuantity(name, q, amount.Down); err != nil {
			problems = append(
				problems, field.Invalid(path.Key(string(name)), q.String(), strings.TrimPrefix(err.Error(), q.String()+" ")),
			)
			continue
		}
		if problem := uncountable(name, q); problem != "" {
			problems = append(problems, field.Invalid(path.Key(string(name)), q.String(), problem))
		}
	}
	return problems
}

// mostCounted is the largest whole number that a ResourceQuota takes: it computes in thousandths, and they overflow
// above.
const mostCounted = math.MaxInt64 / 1000

// uncountable returns why a ResourceQuota does not take a quantity under a name that takes whole numbers alone, or why
// one under another name would be nothing, or "".
func uncountable(name corev1.ResourceName, q resource.Quantity) string {
	switch {
	case !nativequota.Integer(name):
		return vanishing(name, q)
	case !whole(name, q):
		return "must be a whole number"
	case q.CmpInt64(mostCounted) > 0:
		return fmt.Sprintf("is too large: must be at most %d, above which ResourceQuota does not compute", int64(mostCounted))
	}
	return ""
}

// vanishing returns why a quantity would count as nothing, or "": it is less than the unit of its name, as 100m of
// memory are.
func vanishing(name corev1.ResourceName, q resource.Quantity) string {
	unit := resource.NewScaledQuantity(1, amount.Scale(name))
	if q.Sign() <= 0 || q.Cmp(*unit) >= 0 {
		return ""
	}
	return fmt.Sprintf("must be 0 or at least %s, since less counts as nothing", unit.String())
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
			problems = append(
				problems,
				field.Invalid(
					path.Key(string(name)), q.String(),
					fmt.Sprintf("must be at most %s[%s], which is %s", boundName, name, limit.String()),
				),
			)
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

func names(list corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(list)) }
