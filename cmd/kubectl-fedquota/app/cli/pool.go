package cli

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// PoolOf returns what the pool of a FederatedQuota gives to it, nil if it has none. Who may not read pools sees what
// the FederatedQuota itself says.
func PoolOf(ctx context.Context, c client.Reader, fq *quotav1alpha1.FederatedQuota, only view.Only) *view.Pool {
	if fq.Spec.Pool == nil {
		return nil
	}
	pool := &quotav1alpha1.QuotaPool{}
	if c.Get(ctx, client.ObjectKey{Name: string(fq.Spec.Pool.Name)}, pool) != nil {
		pool = nil
	}
	return view.PoolOf(fq, pool, only)
}

// ParentOf returns what the parent of a QuotaPool gives to it, nil if it is a root.
func ParentOf(ctx context.Context, c client.Reader, of *quotav1alpha1.QuotaPool, only view.Only) *view.Pool {
	parent := &quotav1alpha1.QuotaPool{}
	if of.Spec.Parent == "" || c.Get(ctx, client.ObjectKey{Name: string(of.Spec.Parent)}, parent) != nil {
		parent = nil
	}
	return view.ParentOf(of, parent, only)
}

// NoPool is that there is no QuotaPool of a name: it says which there are.
func NoPool(name string, pools []quotav1alpha1.QuotaPool) error {
	return fmt.Errorf("there is no QuotaPool %s, there are: %s", name, named(objectsOf(pools)))
}

// ChildStyle returns how the state of a child is painted.
func ChildStyle(state quotav1alpha1.ChildState) text.Style {
	switch state {
	case quotav1alpha1.ChildSettled:
		return text.Green
	case "":
		return text.Plain
	case quotav1alpha1.ChildNotReady, quotav1alpha1.ChildUnread:
		return text.Red
	}
	return text.Yellow
}

// ClimbOf says where a FederatedQuota or a QuotaPool in a pool could get from what it needs and has not. Who may not
// read pools is not told; who may not read FederatedQuotas of other namespaces sees what pools say of them.
func ClimbOf(ctx context.Context, c client.Reader, object client.Object, only view.Only) []view.Climb {
	if fq, ok := object.(*quotav1alpha1.FederatedQuota); ok && fq.Spec.Pool == nil && fq.Status.Pool == nil {
		return nil
	}
	var pools quotav1alpha1.QuotaPoolList
	if c.List(ctx, &pools) != nil {
		return nil
	}
	var quotas quotav1alpha1.FederatedQuotaList
	if c.List(ctx, &quotas) != nil {
		quotas.Items = nil
	}
	return view.ForestOf(pools.Items, quotas.Items, only).Climb(object)
}
