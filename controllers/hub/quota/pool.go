package quota

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/validate"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch

// treeExpected stands, among what is yet to be heard, for the members of other FederatedQuotas.
const treeExpected = "the clusters of other budgets in its pools"

// stand finds out what a FederatedQuota is to its pool in this round, which knows of that restore. While others of its
// tree are yet to be heard it takes up nothing, and moves no limit.
func (r *Reconciler) stand(
	ctx context.Context, fq *quotav1alpha1.FederatedQuota, around *input.Surroundings, restore int64,
) (pool.Membership, error) {
	if membership.PoolOf(fq) == "" && !standsIn(fq) {
		return pool.MembershipOf(fq.Status.Pool), nil
	}
	around.Restored = fq.Status.Restored < restore && !around.Fresh // which has nothing to rebuild
	waits, err := r.waits(ctx, fq)
	if err != nil {
		return pool.Membership{}, err
	}
	if waits && !around.Restored {
		around.Expected = around.Expected.Clone().Insert(treeExpected)
		return pool.MembershipOf(fq.Status.Pool), nil
	}
	child := &membership.Child{
		Key: pool.QuotaKey(fq.Namespace, fq.Name), UID: string(fq.UID),
		Pool: membership.PoolOf(fq), Stored: fq.Status.Pool, Own: input.Wanted(fq),
		Lost: fq.Status.Revision == 0 && !around.Fresh, Restored: around.Restored, Epoch: around.Epoch,
	}
	m, trouble, err := membership.Finder{Cached: r, Live: r.Live}.Find(ctx, child)
	around.Membership, around.PoolTrouble = &m, trouble
	return m, err
}

// heardOf notes what a round has heard of a FederatedQuota that is in a pool, before it is stored: one whose status
// cannot be stored holds up nobody.
func (r *Reconciler) heardOf(s *scope) {
	if !s.membership.Stands() {
		return
	}
	if s.decision.Rebuilt && !s.in.Restored { // its members show it
		s.restored = r.Trees.Next(s.in.Epoch)
	}
	r.Trees.Hear(s.fq.UID, max(s.fq.Status.Restored, s.restored))
}

// waits says whether a FederatedQuota has to wait until others of its tree are heard.
func (r *Reconciler) waits(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (bool, error) {
	if r.Trees.IsPast(fq.UID) {
		return false, nil
	}
	others, err := r.sameTree(ctx, fq)
	if err != nil {
		return false, err
	}
	return r.Trees.Waits(fq.UID, others, standsIn(fq)), nil
}

// sameTree returns the other FederatedQuotas that are in pools below the same root, and these pools.
func (r *Reconciler) sameTree(ctx context.Context, fq *quotav1alpha1.FederatedQuota) ([]types.UID, error) {
	var all quotav1alpha1.QuotaPoolList
	var quotas quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil && !members.IsAbsentKind(err) {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	if err := r.List(ctx, &quotas, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	parents := validate.ParentsOf(all.Items)
	own := rootOf(parents, inOf(fq))
	others := poolsBelow(own, parents, all.Items)
	for i := range quotas.Items {
		other := &quotas.Items[i]
		if other.UID != fq.UID && standsIn(other) && !ended(other) && rootOf(parents, inOf(other)) == own {
			others = append(others, other.UID)
		}
	}
	return others, nil
}

// poolsBelow returns a root and the pools below it.
func poolsBelow(root quotav1alpha1.PoolName, parents validate.Parents, all []quotav1alpha1.QuotaPool) []types.UID {
	var below []types.UID
	for i := range all {
		if p := &all[i]; !ended(p) && rootOf(parents, quotav1alpha1.PoolName(p.Name)) == root {
			below = append(below, p.UID)
		}
	}
	return below
}

// standsIn says whether a FederatedQuota has stored that it is in a pool.
func standsIn(fq *quotav1alpha1.FederatedQuota) bool {
	return fq.Status.Pool != nil && fq.Status.Pool.UID != ""
}

// ended says whether no more rounds are made of an object: it is being deleted, and somebody else keeps it.
func ended(o client.Object) bool {
	return !o.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(o, quotav1alpha1.Finalizer)
}

// inOf returns the name of the pool that a FederatedQuota is in, or of the one that it names.
func inOf(fq *quotav1alpha1.FederatedQuota) quotav1alpha1.PoolName {
	if fq.Status.Pool != nil && fq.Status.Pool.Name != "" {
		return fq.Status.Pool.Name
	}
	return quotav1alpha1.PoolName(membership.PoolOf(fq))
}

// rootOf returns the pool at the root of the tree of a pool.
func rootOf(parents validate.Parents, name quotav1alpha1.PoolName) quotav1alpha1.PoolName {
	if above, _ := parents.Above(name); len(above) > 0 {
		return above[len(above)-1]
	}
	return name
}
