package cli

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// PoolOf returns what the pool of a FederatedQuota gives to it, nil if it has none. Who may not read pools sees what the
// FederatedQuota itself says.
func PoolOf(ctx context.Context, c client.Client, fq *quotav1alpha1.FederatedQuota, only view.Only) *view.Pool {
	if fq.Spec.Pool == nil {
		return nil
	}
	pool := &quotav1alpha1.QuotaPool{}
	if c.Get(ctx, client.ObjectKey{Name: string(fq.Spec.Pool.Name)}, pool) != nil {
		pool = nil
	}
	return view.PoolOf(fq, pool, only)
}
