package members

import (
	"context"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// StatedDestroyed lets through a Cluster that is said to be destroyed, or is not any more.
var StatedDestroyed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, now := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
	return before[quotav1alpha1.DestroyedAnnotation] != now[quotav1alpha1.DestroyedAnnotation]
}}

// Destroyed says whether a cluster is said to be destroyed, by an annotation of its Cluster. That does not count while
// the hub is connected to the cluster, or has not tried yet to connect.
func Destroyed(ctx context.Context, connections clustercache.ClusterCache, cluster *clusterv1.Cluster) bool {
	if strings.TrimSpace(cluster.Annotations[quotav1alpha1.DestroyedAnnotation]) == "" {
		return false
	}
	key := client.ObjectKeyFromObject(cluster)
	_, err := connections.GetUncachedClient(ctx, key)
	return err != nil && connections.GetHealthCheckingState(ctx, key).ConsecutiveFailures > 0
}
