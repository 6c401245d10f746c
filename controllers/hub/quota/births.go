package quota

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// births handles events of FederatedQuotas, and notes which of them were created while it watched. One that was there
// before may have been restored from before its first round, and have had a ledger that nobody knows of.
type births struct {
	handler.EnqueueRequestForObject

	attended sync.Map // by UID
}

// Create implements handler.EventHandler.
func (b *births) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if !e.IsInInitialList {
		b.attended.Store(e.Object.GetUID(), struct{}{})
	}
	b.EnqueueRequestForObject.Create(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (b *births) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	b.attended.Delete(e.Object.GetUID())
	b.EnqueueRequestForObject.Delete(ctx, e, queue)
}

func (b *births) of(quota types.UID) bool {
	_, attended := b.attended.Load(quota)
	return attended
}

// meet gives a FederatedQuota its finalizer: before that there is no ledger. If its birth was attended there cannot
// have been one that was lost, which the first revision says in the status.
func (r *Reconciler) meet(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	if controllerutil.ContainsFinalizer(fq, quotav1alpha1.Finalizer) {
		return nil
	}
	if r.births.of(fq.UID) && fq.Status.Revision == 0 {
		fq.Status.Revision = ledger.First
		if err := r.Status().Update(ctx, fq); err != nil {
			return err
		}
	}
	stored := fq.DeepCopy()
	controllerutil.AddFinalizer(fq, quotav1alpha1.Finalizer)
	return r.Patch(ctx, fq, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
}
