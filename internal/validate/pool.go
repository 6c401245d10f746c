package validate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/tenant"
)

// Pool returns what is wrong with the spec of a QuotaPool by itself.
func Pool(spec *quotav1alpha1.QuotaPoolSpec) field.ErrorList {
	path := field.NewPath("spec")
	var rule *quotav1alpha1.Capacity
	problems := resources(path.Child("hard"), spec.Hard)
	if spec.Capacity != nil {
		rule = &spec.Capacity.Capacity
		problems = append(problems, following(path.Child("capacity"), spec.Hard, rule)...)
		at := path.Child("capacity", "placement", "clusterSelector")
		problems = append(problems, selector(at, spec.Capacity.Placement.ClusterSelector)...)
	}
	listed := limited(spec.Hard, rule)
	problems = append(problems, resources(path.Child("reserve"), spec.Reserve)...)
	problems = append(problems, known(path.Child("reserve"), spec.Reserve, listed)...)
	problems = append(problems, within(path.Child("reserve"), spec.Reserve, "spec.hard", spec.Hard)...)
	problems = append(problems, selector(path.Child("allowedNamespaces", "selector"), spec.AllowedNamespaces.Selector)...)
	grains := spec.Distribution.Granularity
	problems = append(problems, granularity(path.Child("distribution", "granularity"), grains, listed)...)
	for i := range spec.Distribution.Rules {
		at, r := path.Child("distribution", "rules").Index(i), &spec.Distribution.Rules[i]
		problems = append(problems, bounded(at, &r.RuleTerms, listed, grains)...)
	}
	problems = append(problems, crossed(&spec.Distribution)...)
	problems = append(problems, selector(path.Child("namespaces", "selector"), spec.Namespaces.Selector)...)
	return append(problems, template(spec)...)
}

// template checks by itself what the FederatedQuotas that are kept for a pool are to say.
func template(spec *quotav1alpha1.QuotaPoolSpec) field.ErrorList {
	return InTemplate(spec, Spec(tenant.Spec("", spec)))
}

// InTemplate returns the problems of a FederatedQuota that is kept for a pool in the words of the pool, without those
// of hard if it is the pool's own.
func InTemplate(spec *quotav1alpha1.QuotaPoolSpec, problems field.ErrorList) field.ErrorList {
	const path = "spec.namespaces.template"
	hard := path + ".hard"
	if len(spec.Namespaces.Template.Hard) == 0 {
		hard = "spec.hard"
	}
	words := strings.NewReplacer("spec.hard", hard, "spec.", path+".")
	var own field.ErrorList
	for _, problem := range problems {
		problem.Field, problem.Detail = words.Replace(problem.Field), words.Replace(problem.Detail)
		if strings.HasPrefix(problem.Field, path) {
			own = append(own, problem)
		}
	}
	return own
}

// crossed checks that no child has a min from one rule above its max from another, be it one that a rule names or not.
func crossed(d *quotav1alpha1.PoolDistribution) field.ErrorList {
	var problems field.ErrorList
	for _, child := range append(Named(d), unnamed) {
		who := fmt.Sprintf("child %s more than its max", child)
		if child == unnamed {
			who = "children that none of them names more than their max"
		}
		least, most := Bounds(d, child)
		for _, name := range names(least) {
			q := least[name]
			if limit, ok := most[name]; ok && q.Cmp(limit) > 0 && !together(d, name) {
				path := field.NewPath("spec", "distribution", "rules").Child("min").Key(string(name))
				problems = append(problems, field.Invalid(path, q.String(),
					fmt.Sprintf("the rules give %s: must be at most %s", who, limit.String())))
			}
		}
	}
	return problems
}

// unnamed stands for the children that no rule names: no child has that name.
const unnamed quotav1alpha1.ChildName = ""

// together says whether one rule has a min above its own max, which is told already.
func together(d *quotav1alpha1.PoolDistribution, name corev1.ResourceName) bool {
	return slices.ContainsFunc(d.Rules, func(r quotav1alpha1.PoolRule) bool {
		least, most := r.Min[name], r.Max[name]
		_, ok := r.Max[name]
		return ok && least.Cmp(most) > 0
	})
}

// Named returns the children that rules name, each once, in order.
func Named(d *quotav1alpha1.PoolDistribution) []quotav1alpha1.ChildName {
	var children []quotav1alpha1.ChildName
	for i := range d.Rules {
		children = append(children, d.Rules[i].Children...)
	}
	slices.Sort(children)
	return slices.Compact(children)
}

// Bounds returns min and max of a child: each comes from the last rule that matches the child and sets it.
func Bounds(d *quotav1alpha1.PoolDistribution, child quotav1alpha1.ChildName) (least, most corev1.ResourceList) {
	for i := range d.Rules {
		r := &d.Rules[i]
		if len(r.Children) > 0 && !slices.Contains(r.Children, child) {
			continue
		}
		if len(r.Min) > 0 {
			least = r.Min
		}
		if len(r.Max) > 0 {
			most = r.Max
		}
	}
	return least, most
}

// Allows says whether the FederatedQuotas of a namespace with these labels may name a pool.
func Allows(spec *quotav1alpha1.QuotaPoolSpec, of map[string]string) bool {
	return slices.ContainsFunc(
		[]*metav1.LabelSelector{spec.AllowedNamespaces.Selector, spec.Namespaces.Selector},
		func(selector *metav1.LabelSelector) bool {
			s, err := metav1.LabelSelectorAsSelector(selector) // which nothing matches if there is none
			return err == nil && s.Matches(labels.Set(of))
		},
	)
}

// MostLevels is how many pools there may be one above the other.
const MostLevels = 8

// Parents are pools, and which pool is above each; a root has none.
type Parents map[quotav1alpha1.PoolName]quotav1alpha1.PoolName

// ParentsOf returns which pool is above each of these.
func ParentsOf(pools []quotav1alpha1.QuotaPool) Parents {
	parents := make(Parents, len(pools))
	for i := range pools {
		parents[quotav1alpha1.PoolName(pools[i].Name)] = pools[i].Spec.Parent
	}
	return parents
}

// Above returns the pools above one, the nearest first. It ends before a pool that is there already, and says so.
func (p Parents) Above(pool quotav1alpha1.PoolName) (above []quotav1alpha1.PoolName, circle bool) {
	for at := p[pool]; at != ""; at = p[at] {
		if at == pool || slices.Contains(above, at) {
			return above, true
		}
		above = append(above, at)
	}
	return above, false
}

// InCircle says whether a pool is above itself, and not just below others that are.
func (p Parents) InCircle(pool quotav1alpha1.PoolName) bool {
	above, circle := p.Above(pool)
	return circle && (len(above) == 0 || p[above[len(above)-1]] == pool)
}

// Problems returns what is wrong with the place of a pool in its tree.
func (p Parents) Problems(pool quotav1alpha1.PoolName) field.ErrorList {
	path, parent := field.NewPath("spec", "parent"), p[pool]
	above, circle := p.Above(pool)
	if circle {
		line := []string{string(pool)}
		for at := pool; len(line) <= len(above); at = p[at] {
			line = append(line, string(p[at]))
		}
		line = append(line, string(p[quotav1alpha1.PoolName(line[len(line)-1])]))
		why := fmt.Sprintf("leads in a circle (%s): name a pool that is not below %s", strings.Join(line, " below "), pool)
		return field.ErrorList{field.Invalid(path, parent, why)}
	}
	if levels := len(above) + p.height(pool); parent != "" && levels > MostLevels {
		why := fmt.Sprintf("would have %d pools one above the other: must be at most %d", levels, MostLevels)
		return field.ErrorList{field.Invalid(path, parent, why)}
	}
	return nil
}

// height returns how many pools there are one above the other from a pool downwards, itself included.
func (p Parents) height(pool quotav1alpha1.PoolName) int {
	height := 1
	for other := range p {
		above, circle := p.Above(other)
		if at := slices.Index(above, pool); at >= 0 && !circle {
			height = max(height, at+2)
		}
	}
	return height
}
