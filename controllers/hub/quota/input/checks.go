package input

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/shares"
	"github.com/fedquota/fedquota/internal/validate"
)

// haltedBy returns why the spec of a FederatedQuota cannot be acted on; it is empty if it can.
func haltedBy(
	fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, around *Surroundings,
) shares.Obstacle {
	if problems := problemsOf(fq, selected, around.Agents); len(problems) > 0 {
		return shares.Obstacle{Reason: quotav1alpha1.ReasonInvalidSpec, Message: problems.ToAggregate().Error()}
	}
	if conflict := conflictOf(fq, selected, around.Clusters, around.Siblings); conflict != "" {
		return shares.Obstacle{Reason: quotav1alpha1.ReasonConflict, Message: conflict}
	}
	return shares.Obstacle{}
}

// problemsOf returns what makes a spec one that cannot be acted on. The later checks suppose that the earlier ones have
// passed.
func problemsOf(fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, agents string) field.ErrorList {
	problems := slices.Concat(validate.Spec(&fq.Spec), misplaced(fq, agents), destroyed(fq, selected))
	if len(problems) == 0 {
		problems = guarantees(&fq.Spec, selected)
	}
	if len(problems) == 0 {
		problems = tooManyNames(fq)
	}
	return problems
}

// misplaced checks that the budget is not for the namespace of the agents: the first limit in each member is zero,
// which an agent whose pod has to be created then cannot raise.
func misplaced(fq *quotav1alpha1.FederatedQuota, agents string) field.ErrorList {
	if fq.Namespace != agents {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "namespace"), fq.Namespace,
		"the agents run in this namespace of every cluster, and a limit there could keep them from starting: "+
			"use another namespace")}
}

// destroyed checks that no cluster is both selected and said to be destroyed, unless it has the name of one that is.
func destroyed(fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster) field.ErrorList {
	var problems field.ErrorList
	replaced := func(cluster *members.Cluster) bool {
		return slices.ContainsFunc(fq.Status.Clusters, func(c quotav1alpha1.ClusterStatus) bool {
			return string(c.Name) == cluster.Name && Entry(&c).ReplacedBy(string(cluster.UID))
		})
	}
	for i, name := range fq.Spec.Removal.Destroyed {
		if cluster := selected[string(name)]; cluster != nil && !replaced(cluster) {
			problems = append(problems, field.Invalid(field.NewPath("spec", "removal", "destroyed").Index(i), name,
				"the placement selects this Cluster: a cluster that still runs must not be given up"))
		}
	}
	return problems
}

// guarantees checks that no selected cluster has a min above its max, and that all min fit into the budget, but for
// what nodes make of it: those come and go.
func guarantees(spec *quotav1alpha1.FederatedQuotaSpec, selected map[string]*members.Cluster) field.ErrorList {
	sum, clusters, problems := amount.List{}, map[corev1.ResourceName][]string{}, field.ErrorList{}
	for _, cluster := range slices.Sorted(maps.Keys(selected)) {
		t := terms(&spec.Distribution, selected[cluster])
		for _, name := range t.Min.Names() {
			if value := t.Min[name]; value > 0 {
				sum[name] = amount.Add(sum[name], value)
				clusters[name] = append(clusters[name], cluster)
			}
			if most, bounded := t.Max[name]; bounded && t.Min[name] > most && len(problems) < mostProblems {
				problems = append(problems, excessive(spec, name, t.Min[name], most,
					"the rules give cluster %s more than its max: must be at most %s", cluster))
			}
		}
	}
	budget := stated(spec)
	for _, name := range sum.Names() {
		if most, is := budget[name]; is && sum[name] > most {
			problems = append(problems, excessive(spec, name, sum[name], most,
				"the min of clusters %s add up to more than the budget: must be at most %s in all",
				shares.Abbreviated(clusters[name])))
		}
	}
	return problems
}

// mostProblems is how many clusters are told to have a min above their max.
const mostProblems = 5

// MostNames is how many resource names the schema of the status has room for in what is granted to a cluster: those of
// a budget, and those of the one before.
const MostNames = 64

// tooManyNames checks that the ledger has room for the names of the budget beside those that left it and are granted
// still.
func tooManyNames(fq *quotav1alpha1.FederatedQuota) field.ErrorList {
	budget := Wanted(fq)
	for _, c := range fq.Status.Clusters {
		names := maps.Clone(budget)
		for name := range c.Granted {
			names[name] = 0
		}
		if len(names) > MostNames {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "hard"), len(budget), fmt.Sprintf(
				"cluster %s may still enforce names of earlier budgets: with these it would have %d names, "+
					"and at most %d have room in status: keep to those of status.hard until it has confirmed",
				c.Name, len(names), MostNames))}
		}
	}
	return nil
}

// excessive says of which clusters the min is above what it may be; format takes the clusters and the limit.
func excessive(
	spec *quotav1alpha1.FederatedQuotaSpec, name corev1.ResourceName, value, limit int64, format, clusters string,
) *field.Error {
	is, most := amount.Text(name, value, spec.Hard), amount.Text(name, limit, spec.Hard)
	path := field.NewPath("spec", "distribution", "rules", "min").Key(string(name))
	return field.Invalid(path, is, fmt.Sprintf(format, clusters, most))
}

// strangers returns where the spec names Clusters that do not exist. They are no reason to halt: the others go on.
func strangers(spec *quotav1alpha1.FederatedQuotaSpec, clusters []members.Cluster, missing []string) []string {
	var found []string
	if len(missing) > 0 {
		found = append(found, "spec.placement.clusters: "+shares.Abbreviated(missing))
	}
	for i, rule := range spec.Distribution.Rules {
		var unknown []string
		for _, name := range rule.Clusters {
			if !slices.ContainsFunc(clusters, func(c members.Cluster) bool { return c.Name == string(name) }) {
				unknown = append(unknown, string(name))
			}
		}
		if len(unknown) > 0 {
			found = append(found, fmt.Sprintf("spec.distribution.rules[%d].clusters: %s", i, shares.Abbreviated(unknown)))
		}
	}
	return found
}

// conflictOf says which older FederatedQuota of the namespace covers the same scope in one of the selected clusters.
func conflictOf(
	fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, clusters []members.Cluster,
	siblings []quotav1alpha1.FederatedQuota,
) string {
	wins := func(other *quotav1alpha1.FederatedQuota) bool { return older(other, fq) }
	return overlapOf(fq, selected, clusters, siblings, wins)
}

// overlapOf says which of the siblings that matter covers the same scope in one of the selected clusters.
func overlapOf(
	fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, clusters []members.Cluster,
	siblings []quotav1alpha1.FederatedQuota, matters func(other *quotav1alpha1.FederatedQuota) bool,
) string {
	for i := range siblings {
		if other := &siblings[i]; other.Name != fq.Name && matters(other) {
			if found := overlap(other, fq, selected, clusters); found != "" {
				return found
			}
		}
	}
	return ""
}

// overlap says in which of the selected clusters another FederatedQuota covers the same scope; nothing if in none.
func overlap(
	other, fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, clusters []members.Cluster,
) string {
	if !SameScope(&other.Spec, &fq.Spec) {
		return ""
	}
	theirs, _ := Placed(other, clusters)
	var shared []string
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		if theirs[name] != nil {
			shared = append(shared, name)
		}
	}
	if len(shared) == 0 {
		return ""
	}
	age := "younger"
	if older(other, fq) {
		age = "older"
	}
	return fmt.Sprintf("FederatedQuota %s/%s is %s and covers the same scope in clusters %s: "+
		"merge spec.hard into it, or make placement or scopes of the two disjoint",
		other.Namespace, other.Name, age, shares.Abbreviated(shared))
}

func older(a, b *quotav1alpha1.FederatedQuota) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// SameScope says whether two specs count the same objects, however they are written.
func SameScope(a, b *quotav1alpha1.FederatedQuotaSpec) bool {
	return nativequota.SameScopes(counts(a), counts(b))
}

func counts(spec *quotav1alpha1.FederatedQuotaSpec) *corev1.ResourceQuotaSpec {
	return &corev1.ResourceQuotaSpec{Scopes: spec.Scopes, ScopeSelector: spec.ScopeSelector}
}
