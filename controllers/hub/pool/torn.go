package pool

import (
	"context"
	"fmt"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/shares"
)

// keepTorn notes a pool that is gone, or was created again, while others still stand in it: somebody has taken its
// finalizer off. What it gave them is in use, and they may go on to use all of it.
func (r *Reconciler) keepTorn(ctx context.Context, s *scope, key string, found *child) error {
	e, _ := s.pool.Entry(key)
	if !pool.IsPool(key) || found != nil && found.UID == e.UID {
		return nil
	}
	inhabitants, err := r.inhabitants(ctx, key, e.UID)
	if len(inhabitants) > 0 {
		s.torn[key] = shares.Abbreviated(inhabitants)
	}
	return err
}

// inhabitants returns the keys of those that stand in a pool that is gone. FederatedQuotas are listed first: one that
// goes to a pool that has come in its place meanwhile is in the first list, or counted there in the second.
func (r *Reconciler) inhabitants(ctx context.Context, key, uid string) ([]string, error) {
	var quotas quotav1alpha1.FederatedQuotaList
	if err := r.Live.List(ctx, &quotas); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	var pools quotav1alpha1.QuotaPoolList
	if err := r.Live.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	var all []*pool.Child
	for i := range quotas.Items {
		all = append(all, pool.ChildOfQuota(&quotas.Items[i]))
	}
	for i := range pools.Items {
		all = append(all, pool.ChildOfPool(&pools.Items[i]))
	}
	return pool.TreeOf(pools.Items).Inhabitants(key, uid, all), nil
}
