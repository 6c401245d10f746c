package quota

import (
	"context"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/pool"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch

// treeExpected stands, among what is yet to be heard, for the members of other FederatedQuotas.
const treeExpected = "the clusters of other budgets in its pools"

// stand finds out what a FederatedQuota is to its pool in this round. While others of its tree are yet to be heard it
// takes up nothing, and moves no limit.
func (r *Reconciler) stand(ctx context.Context, fq *quotav1alpha1.FederatedQuota, around *input.Surroundings) (pool.Membership, error) {
	if membership.PoolOf(fq) == "" && !standsIn(fq) {
		return pool.MembershipOf(fq.Status.Pool), nil
	}
	around.Restored = r.trees.restored(fq.UID, around.Fresh)
	waits, err := r.waits(ctx, fq)
	if err != nil {
		return pool.Membership{}, err
	}
	if waits && !around.Restored {
		around.Expected = around.Expected.Clone().Insert(treeExpected)
		return pool.MembershipOf(fq.Status.Pool), nil
	}
	child := &membership.Child{
		Key: pool.QuotaKey(fq.Namespace, fq.Name), UID: string(fq.UID), Generation: fq.Generation,
		Pool: membership.PoolOf(fq), Stored: fq.Status.Pool, Own: input.Wanted(fq),
		Lost: fq.Status.Revision == 0 && !around.Fresh, Restored: around.Restored, Epoch: around.Epoch,
	}
	m, trouble, err := membership.Finder{Cached: r, Live: r.Live}.Find(ctx, child)
	around.Membership, around.PoolTrouble = &m, trouble
	return m, err
}
