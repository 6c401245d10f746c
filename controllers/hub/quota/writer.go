package quota

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// writer returns a client of a member that says with each write that it is the hub's, as the share policy there
// demands. It returns a conflict if another Cluster may have the connection since the round began, for which nothing
// was decided.
func (r *Reconciler) writer(ctx context.Context, m *member) (client.Client, error) {
	key := client.ObjectKeyFromObject(m.cluster)
	c, err := r.Members.GetUncachedClient(ctx, key)
	if err != nil {
		return nil, err
	}
	now := &clusterv1.Cluster{}
	if err := r.Get(ctx, key, now, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if now.UID != m.cluster.UID {
		clusters := clusterv1.GroupVersion.WithResource("clusters").GroupResource()
		return nil, apierrors.NewConflict(clusters, m.Name, errReplaced)
	}
	return client.WithFieldOwner(c, quotav1alpha1.HubFieldManager), nil
}

// errReplaced is why nothing is written to a cluster that another one has the name of.
var errReplaced = errors.New("it was deleted since the round began")
