package members

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// MarkerOf returns the revision that the marker on a Cluster notes, 0 if it has none and so cannot hold a share. A
// revision that no ledger gave marks the Cluster, and no more.
func MarkerOf(cluster *clusterv1.Cluster) int64 {
	text, marked := cluster.Annotations[quotav1alpha1.MemberAnnotation]
	revision := nativequota.ParseRevision(text)
	if marked && (revision == 0 || revision > ledger.MostRevision) {
		return 1
	}
	return revision
}
