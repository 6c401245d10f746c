// Package heartbeat tells agents that the hub is there.
package heartbeat

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

// Heartbeat renews the hub's Lease in each member. Agents that see it run out do not let requests wait for a hub that
// is not there. Safety does not rest on it.
type Heartbeat struct {
	client.Client
	// Live reads from the hub's API server.
	Live client.Reader
	// Members connects to members.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are, AgentNamespace where the agents run in members.
	Clusters       members.Namespaces
	AgentNamespace string
	// Identity is what this hub manager renews the Lease as.
	Identity string
	// Clock says when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to be written to.
	Timeout time.Duration
}

// Start renews the Lease in all members again and again, until the context ends. While it reaches few of them, as after
// a start, it tries again soon.
func (h *Heartbeat) Start(ctx context.Context) error {
	for {
		began := h.Clock.Now()
		interval := pace.RenewInterval(h.RenewAll(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval - h.Clock.Since(began)):
		}
	}
}

// RenewAll renews the Lease in all members once, as long as the hub's own API server answers: nobody is raised without
// it. All members at once: none waits for those that do not answer. It returns in how many it could.
func (h *Heartbeat) RenewAll(ctx context.Context) int {
	var clusters []members.Cluster
	_, err := rollback.List(ctx, h.Live, quotav1alpha1.GroupVersion.WithKind("FederatedQuota"), h.Timeout, client.Limit(1))
	if err == nil {
		clusters, err = h.Clusters.List(ctx, h)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to renew the Lease in members")
		return 0
	}
	var renewed atomic.Int64
	var group sync.WaitGroup
	for _, cluster := range clusters {
		if members.MarkerOf(cluster.Cluster) > 0 { // nothing is written into a cluster without it
			group.Go(func() {
				if h.renew(ctx, cluster, pace.LeaseDuration(len(clusters))) {
					renewed.Add(1)
				}
			})
		}
	}
	group.Wait()
	return int(renewed.Load())
}

// renew renews the Lease in one member for a time, where there is one: it comes with the agent. It says whether it
// could.
func (h *Heartbeat) renew(ctx context.Context, cluster members.Cluster, duration time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	c, err := h.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return false
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.AgentNamespace, Name: quotav1alpha1.HubLease},
	}
	err = c.Patch(ctx, lease, patches.Merge{"spec": map[string]any{
		"holderIdentity":       h.Identity,
		"leaseDurationSeconds": int32(duration / time.Second),
		"renewTime":            metav1.NewMicroTime(h.Clock.Now()),
	}})
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Renewing the Lease in a member failed", "Cluster", cluster.Name, "err", err.Error())
	}
	return err == nil
}
