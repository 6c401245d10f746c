package quota

import (
	"context"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/pool"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch

// stand finds out what a FederatedQuota is to its pool in this round.
func (r *Reconciler) stand(ctx context.Context, fq *quotav1alpha1.FederatedQuota, around *input.Surroundings) (pool.Membership, error) {
	child := &membership.Child{
		Key: pool.QuotaKey(fq.Namespace, fq.Name), UID: string(fq.UID), Generation: fq.Generation,
		Pool: membership.PoolOf(fq), Stored: fq.Status.Pool, Own: input.Wanted(&fq.Spec),
		Lost: fq.Status.Revision == 0 && !around.Fresh, Restored: around.Restored, Epoch: around.Epoch,
	}
	m, trouble, err := membership.Finder{Cached: r, Live: r.Live}.Find(ctx, child)
	around.Membership, around.PoolTrouble = &m, trouble
	return m, err
}
