package quota

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// births handles events of FederatedQuotas, and notes which of them were created while it watched. One that was there
// before may have been restored from before its first round, and have had a ledger that nobody knows of.
type births struct {
	handler.EnqueueRequestForObject

	attended sync.Map // birth by UID
	// gone are the names of those that went. One whose ledger was lost goes although a silent member has not let go of it, and
	// one whose finalizer somebody takes off goes whatever members hold.
	gone sync.Map
	// doubted says that a member has shown what a ledger of this hub has forgotten: others may have forgotten as much.
	doubted atomic.Bool
}

// birth is what is known of a FederatedQuota whose creation was watched.
type birth struct {
	// second says that one of the same name went before it, which a member may still hold a share of.
	second bool
	// told says that a member was told something of it. Until then revision is where this hub manager has left its ledger,
	// and steady is since when the hub manager had not stood still then.
	told     bool
	revision int64
	steady   time.Time
}

// Create implements handler.EventHandler.
func (b *births) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if !e.IsInInitialList {
		_, second := b.gone.Load(client.ObjectKeyFromObject(e.Object))
		b.attended.Store(e.Object.GetUID(), birth{second: second})
	}
	b.EnqueueRequestForObject.Create(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (b *births) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	b.attended.Delete(e.Object.GetUID())
	b.gone.Store(client.ObjectKeyFromObject(e.Object), struct{}{})
	b.EnqueueRequestForObject.Delete(ctx, e, queue)
}

// of returns what is known of the birth of a FederatedQuota, and whether it was watched.
func (b *births) of(quota types.UID) (birth, bool) {
	known, attended := b.attended.Load(quota)
	if !attended {
		return birth{}, false
	}
	return known.(birth), true
}

// fresh says whether nobody was told anything of a FederatedQuota yet: this hub manager has watched since before it was
// created, has not stood still since, and finds the ledger as it has left it. Then no other one has told anybody.
func (b *births) fresh(fq *quotav1alpha1.FederatedQuota, steady time.Time) bool {
	known, attended := b.of(fq.UID)
	return attended && !known.second && !known.told && !b.doubted.Load() &&
		known.revision == fq.Status.Revision && known.steady.Equal(steady)
}

// leave notes how a FederatedQuota is left whose first revision, or whose round, was stored.
func (b *births) leave(fq *quotav1alpha1.FederatedQuota, steady time.Time) {
	if known, attended := b.of(fq.UID); attended && !known.told {
		told := func(c quotav1alpha1.ClusterStatus) bool { return c.Revision > 0 }
		known.told = slices.ContainsFunc(fq.Status.Clusters, told)
		known.revision, known.steady = fq.Status.Revision, steady
		b.attended.Store(fq.UID, known)
	}
}

// learn notes what a round has shown of the ledgers of this hub.
func (b *births) learn(d *shares.Decision) {
	if d.Rebuilt {
		b.doubted.Store(true)
	}
}

// meet gives a FederatedQuota its finalizer: before that there is no ledger. If its birth was attended there cannot
// have been one that was lost, which the first revision says in the status.
func (r *Reconciler) meet(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	if controllerutil.ContainsFinalizer(fq, quotav1alpha1.Finalizer) {
		return nil
	}
	if _, attended := r.births.of(fq.UID); attended && fq.Status.Revision == 0 {
		fq.Status.Revision = ledger.First
		if err := r.Status().Update(ctx, fq); err != nil {
			return err
		}
		r.births.leave(fq, r.Stores.Steady())
	}
	stored := fq.DeepCopy()
	controllerutil.AddFinalizer(fq, quotav1alpha1.Finalizer)
	return r.Patch(ctx, fq, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
}
