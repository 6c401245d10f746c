package input

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/shares"
)

// overruled returns where rules set in vain what a later rule sets for the same Cluster, and for which Clusters that
// counts. That a rule for one Cluster overrules one for many is what rules are for, and nothing to tell.
func overruled(d *quotav1alpha1.Distribution, selected map[string]*members.Cluster) []string {
	var found []string
	for _, field := range []string{"weight", "min", "lendable", "max", "headroom"} {
		clusters := map[[2]int][]string{}
		for _, name := range slices.Sorted(maps.Keys(selected)) {
			for _, pair := range overruledFor(d, field, selected[name]) {
				clusters[pair] = append(clusters[pair], name)
			}
		}
		byRule := func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }
		for _, pair := range slices.SortedFunc(maps.Keys(clusters), byRule) {
			found = append(found, fmt.Sprintf("spec.distribution.rules[%d].%s: does not count for %s, "+
				"since rules[%d] sets it after that: the last rule that matches a cluster counts",
				pair[0], field, shares.Abbreviated(clusters[pair]), pair[1]))
		}
	}
	return found
}

// overruledFor returns the rules that set a field of a Cluster in vain, each with the rule that counts.
func overruledFor(d *quotav1alpha1.Distribution, field string, cluster *members.Cluster) [][2]int {
	var pairs [][2]int
	last := -1
	for i := len(d.Rules) - 1; i >= 0; i-- {
		rule := &d.Rules[i]
		value := valueOf(d, rule, field)
		switch {
		case value == nil || !matches(rule, cluster):
		case last < 0:
			last = i
		case aim(rule) >= aim(&d.Rules[last]) && !equality.Semantic.DeepEqual(value, valueOf(d, &d.Rules[last], field)):
			pairs = append(pairs, [2]int{i, last})
		}
	}
	return pairs
}

// valueOf returns what a rule sets a field to, nil if it does not set it.
func valueOf(d *quotav1alpha1.Distribution, rule *quotav1alpha1.DistributionRule, field string) any {
	if field == "weight" {
		if rule.Weight == nil || !weighs(d) {
			return nil
		}
		return *rule.Weight
	}
	list := map[string]map[corev1.ResourceName]resource.Quantity{
		"min": rule.Min, "lendable": rule.Lendable, "max": rule.Max, "headroom": rule.Headroom,
	}[field]
	if len(list) == 0 {
		return nil
	}
	return list
}

// aim is how closely a rule says which Clusters it is for: all, those with labels, or those with names.
func aim(rule *quotav1alpha1.DistributionRule) int {
	selector := rule.ClusterSelector
	switch {
	case len(rule.Clusters) > 0:
		return 2
	case selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0:
		return 1
	}
	return 0
}
