package quota

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/shares"
)

// queue is where handlers of events put the FederatedQuotas that are to have a round.
type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// births handles events of FederatedQuotas, and notes which of them were created while it watched. One that was there
// before may have been restored from before its first round, and have had a ledger that nobody knows of.
type births struct {
	handler.EnqueueRequestForObject

	attended sync.Map // shares.Birth by UID
	// gone are the names of those that went. One whose ledger was lost goes although a silent member has not let go of it,
	// and one whose finalizer somebody takes off goes whatever members hold.
	gone sync.Map
	// doubted says that a member has shown what a ledger of this hub has forgotten: others may have forgotten as much.
	doubted atomic.Bool
}

// Create implements handler.EventHandler.
func (b *births) Create(ctx context.Context, e event.CreateEvent, rounds queue) {
	if !e.IsInInitialList {
		_, second := b.gone.Load(client.ObjectKeyFromObject(e.Object))
		b.attended.Store(e.Object.GetUID(), shares.Birth{Second: second})
	}
	b.EnqueueRequestForObject.Create(ctx, e, rounds)
}

// Delete implements handler.EventHandler.
func (b *births) Delete(ctx context.Context, e event.DeleteEvent, rounds queue) {
	b.attended.Delete(e.Object.GetUID())
	b.gone.Store(client.ObjectKeyFromObject(e.Object), struct{}{})
	b.EnqueueRequestForObject.Delete(ctx, e, rounds)
}

// of returns what is known of the birth of a FederatedQuota, and whether it was watched.
func (b *births) of(quota types.UID) (shares.Birth, bool) {
	known, attended := b.attended.Load(quota)
	if !attended {
		return shares.Birth{}, false
	}
	return known.(shares.Birth), true
}

// fresh says whether nobody was told anything of a FederatedQuota yet.
func (b *births) fresh(fq *quotav1alpha1.FederatedQuota, steady time.Time) bool {
	known, attended := b.of(fq.UID)
	return attended && !b.doubted.Load() && known.Fresh(fq.Status.Revision, steady)
}

// leave notes how a FederatedQuota is left whose first revision, or whose round, was stored.
func (b *births) leave(fq *quotav1alpha1.FederatedQuota, steady time.Time) {
	if known, attended := b.of(fq.UID); attended {
		entries := make([]int64, len(fq.Status.Clusters))
		for i, c := range fq.Status.Clusters {
			entries[i] = c.Revision
		}
		b.attended.Store(fq.UID, known.Leave(fq.Status.Revision, entries, steady))
	}
}

// learn notes what a round has shown of the ledgers of this hub.
func (b *births) learn(d *shares.Decision) {
	if d.Rebuilt {
		b.doubted.Store(true)
	}
}
