package hub

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/controllers/write"
	"github.com/fedquota/fedquota/internal/pace"
)

// renewLeases renews the Lease in all members again and again: agents that see it run out do not let requests wait for a hub that
// is not there. Safety does not rest on it.
func (r *QuotaReconciler) renewLeases(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, r.renewAll, pace.LookInterval)
	return nil
}

// renewAll renews the Lease in all members once, as long as the hub's own API server answers: nobody is raised without it. All
// members at once: none waits for those that do not answer.
func (r *QuotaReconciler) renewAll(ctx context.Context) {
	var clusters clusterv1.ClusterList
	_, err := rollback.List(ctx, r.Live, quotav1alpha1.GroupVersion.WithKind("FederatedQuota"), r.memberTimeout, client.Limit(1))
	if err == nil {
		err = r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to renew the Lease in members")
		return
	}
	var group sync.WaitGroup
	for i := range clusters.Items {
		if cluster := &clusters.Items[i]; markerOf(cluster) > 0 { // nothing is written into a cluster without it
			group.Go(func() { r.renew(ctx, cluster) })
		}
	}
	group.Wait()
}

// renew renews the Lease in one member, where there is one: it comes with the agent.
func (r *QuotaReconciler) renew(ctx context.Context, cluster *clusterv1.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, r.memberTimeout)
	defer cancel()
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return
	}
	patch, err := write.MergePatch(map[string]any{"spec": map[string]any{
		"holderIdentity":       r.Identity,
		"leaseDurationSeconds": int32(pace.LeaseDuration / time.Second),
		"renewTime":            metav1.NewMicroTime(r.Clock.Now()),
	}})
	if err == nil {
		err = c.Patch(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.AgentNamespace, Name: quotav1alpha1.HubLease}}, patch)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Renewing the Lease in a member failed", "Cluster", cluster.Name, "err", err.Error())
	}
}
