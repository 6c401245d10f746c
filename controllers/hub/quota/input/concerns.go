package input

import (
	"slices"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// Concerns says whether a FederatedQuota has an entry for a Cluster, selects or names it, or has yet to learn who holds
// its shares.
func Concerns(fq *quotav1alpha1.FederatedQuota, cluster members.Cluster) bool {
	name, learned := quotav1alpha1.ClusterName(cluster.Name), false
	for i := range fq.Status.Clusters {
		if fq.Status.Clusters[i].Name == name {
			return true
		}
		learned = learned || fq.Status.Clusters[i].Revision > 0
	}
	names := func(rule quotav1alpha1.DistributionRule) bool { return slices.Contains(rule.Clusters, name) }
	return !learned || slices.Contains(fq.Spec.Placement.Clusters, name) ||
		slices.Contains(fq.Spec.Removal.Destroyed, name) || slices.ContainsFunc(fq.Spec.Distribution.Rules, names) ||
		matcher(fq.Spec.Placement.ClusterSelector)(&cluster)
}
