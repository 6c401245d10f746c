package admission

import (
	"context"
	"errors"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fedquota-system,resources=leases,resourceNames=fedquota-hub-heartbeat,verbs=list;watch

// Feed lets the gate see the shares and ResourceQuotas of the cluster, and the Lease of the hub: no other may be
// cached.
func (g *Gate) Feed(ctx context.Context, informers cache.Informers) error {
	shares, err := follow(ctx, informers, &quotav1alpha1.QuotaShare{}, g.SetShare, g.DeleteShare)
	if err != nil {
		return err
	}
	leases, err := follow(ctx, informers, &coordinationv1.Lease{}, g.SetLease, g.DeleteLease)
	if err != nil {
		return err
	}
	quotas, err := follow(ctx, informers, &corev1.ResourceQuota{}, g.SetQuota, g.DeleteQuota)
	g.feeds = []toolscache.ResourceEventHandlerRegistration{shares, leases, quotas}
	return err
}

// Ready says whether the gate knows all that there was when it was fed first: before, it lets requests through that it
// would hold.
func (g *Gate) Ready(*http.Request) error {
	for _, feed := range g.feeds {
		if !feed.HasSynced() {
			return errors.New("shares, ResourceQuotas and the Lease of the hub are not read yet")
		}
	}
	return nil
}

// follow calls set for every object as it is and when it changes, and unset when it is gone.
func follow[T client.Object](
	ctx context.Context, informers cache.Informers, kind T, set func(T), unset func(types.NamespacedName),
) (toolscache.ResourceEventHandlerRegistration, error) {
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	return informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(object.(T)) },
		UpdateFunc: func(_, object any) { set(object.(T)) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if last, ok := object.(T); ok {
				unset(client.ObjectKeyFromObject(last))
			}
		},
	})
}
