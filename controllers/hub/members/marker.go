package members

import (
	"strconv"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// MarkerOf returns the revision that the marker on a Cluster notes, 0 if it has none and so cannot hold a share. A revision that
// no ledger gave marks the Cluster, and no more.
func MarkerOf(cluster *clusterv1.Cluster) int64 {
	revision, err := strconv.ParseInt(cluster.Annotations[quotav1alpha1.MemberAnnotation], 10, 64)
	if _, marked := cluster.Annotations[quotav1alpha1.MemberAnnotation]; marked && (err != nil || revision > ledger.MostRevision) {
		return 1
	}
	return revision
}
