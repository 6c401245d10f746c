package capacity

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/capacity"
)

// Counted returns the names of the Clusters whose nodes count, and the names of none that the placement gives: nobody
// reports of those, which is said of them. What is said to be destroyed has no nodes, whatever it has reported last.
func Counted(
	ctx context.Context, connections clustercache.ClusterCache, placement *quotav1alpha1.CapacityPlacement,
	clusters []members.Cluster,
) (counted []string) {
	known := sets.New[string]()
	for i := range clusters {
		c := &clusters[i]
		known.Insert(c.Name)
		if capacity.Selects(placement, c.Name, c.Labels) && !members.Destroyed(ctx, connections, c.Cluster) {
			counted = append(counted, c.Name)
		}
	}
	for _, name := range placement.Clusters {
		if !known.Has(string(name)) {
			counted = append(counted, string(name))
		}
	}
	return counted
}
