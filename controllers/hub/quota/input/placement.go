package input

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/round"
)

// Placed returns the Clusters that the placement of a FederatedQuota selects, by name, and the names that it gives in
// vain. A selector that cannot be read selects the Clusters that have an entry: over such a spec no cluster leaves.
func Placed(
	fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster,
) (selected map[string]*members.Cluster, missing []string) {
	placement := &fq.Spec.Placement
	byName := make(map[string]*members.Cluster, len(clusters))
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	selected = maps.Clone(byName)
	matches := matcher(placement.ClusterSelector)
	if _, err := metav1.LabelSelectorAsSelector(placement.ClusterSelector); err != nil {
		matches = func(c *members.Cluster) bool {
			of := func(e quotav1alpha1.ClusterStatus) bool { return string(e.Name) == c.Name }
			return slices.ContainsFunc(fq.Status.Clusters, of)
		}
	}
	maps.DeleteFunc(selected, func(name string, c *members.Cluster) bool {
		return !matches(c) && !slices.Contains(placement.Clusters, quotav1alpha1.ClusterName(name))
	})
	for _, name := range placement.Clusters {
		if byName[string(name)] == nil {
			missing = append(missing, string(name))
		}
	}
	return selected, missing
}

// FollowNodes notes in the status what the nodes of the selected clusters can run, where the budget follows them.
// Reports are by cluster.
func FollowNodes(
	fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster, reports map[string]*quotav1alpha1.ClusterCapacity,
) {
	fq.Status.Capacity = nil
	if fq.Spec.Capacity != nil {
		selected, _ := Placed(fq, clusters)
		names := capacity.Names(fq.Spec.Hard, fq.Spec.Capacity)
		fq.Status.Capacity = capacity.StatusOf(names, slices.Collect(maps.Keys(selected)), reports)
	}
}

// matcher returns what a label selector says of a Cluster; no selector matches nothing.
func matcher(s *metav1.LabelSelector) func(*members.Cluster) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return func(*members.Cluster) bool { return false }
	}
	return func(c *members.Cluster) bool { return selector.Matches(labels.Set(c.Labels)) }
}

// terms returns the terms of a cluster: each comes from the last rule that matches the cluster and sets it. An empty
// map of amounts sets nothing.
func terms(d *quotav1alpha1.Distribution, cluster *members.Cluster) round.Terms {
	t := round.Terms{Weight: 1}
	for i := range d.Rules {
		rule := &d.Rules[i]
		if !matches(rule, cluster) {
			continue
		}
		if rule.Weight != nil && weighs(d) {
			t.Weight = int64(*rule.Weight)
		}
		t.Override(rule.Min, rule.Lendable, rule.Max, rule.Headroom)
	}
	return t
}

// Most returns what a cluster may have of a budget at most, of the names that rules bound.
func Most(fq *quotav1alpha1.FederatedQuota, cluster *members.Cluster) amount.List {
	return terms(&fq.Spec.Distribution, cluster).Max
}

// weighs says whether the weights of rules count.
func weighs(d *quotav1alpha1.Distribution) bool {
	return d.Weights == "" || d.Weights == quotav1alpha1.WeightsStatic
}

func matches(rule *quotav1alpha1.DistributionRule, cluster *members.Cluster) bool {
	if len(rule.Clusters) == 0 && rule.ClusterSelector == nil {
		return true
	}
	named := slices.Contains(rule.Clusters, quotav1alpha1.ClusterName(cluster.Name))
	return named || matcher(rule.ClusterSelector)(cluster)
}
