package capacity

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// Selects says whether the nodes of a Cluster count that is called so and has these labels.
func Selects(placement *quotav1alpha1.CapacityPlacement, cluster string, of map[string]string) bool {
	if placement.ClusterSelector == nil && len(placement.Clusters) == 0 {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(placement.ClusterSelector) // which nothing matches if there is none
	return err == nil && selector.Matches(labels.Set(of)) ||
		slices.Contains(placement.Clusters, quotav1alpha1.ClusterName(cluster))
}
