package demand

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/pace"
)

// renewInterval is how often a replica states anew what has not changed, so that others know that it is there.
const renewInterval = pace.Memory / 2

// heard is a statement of another replica.
type heard struct {
	renewed metav1.MicroTime
	since   time.Time // seen first, by the clock of this replica
}

// others returns the statements of other replicas that count: one that was not renewed for as long as a request is
// remembered is of a replica that is gone.
func (d *Demand) others(share *quotav1alpha1.QuotaShare) map[string]quotav1alpha1.ReplicaDemand {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	key, now := client.ObjectKeyFromObject(share), d.Clock.Now()
	before, after := d.heard[key], map[string]heard{}
	var counting map[string]quotav1alpha1.ReplicaDemand
	for replica, requested := range share.Status.DemandByReplica {
		if replica == d.Replica {
			continue // of before it led
		}
		last, known := before[replica]
		if !known || !last.renewed.Equal(&requested.RenewTime) {
			last = heard{renewed: requested.RenewTime, since: now}
		}
		after[replica] = last
		if now.Sub(last.since) >= pace.Memory {
			continue
		}
		if counting == nil {
			counting = map[string]quotav1alpha1.ReplicaDemand{}
		}
		counting[replica] = requested
	}
	if d.heard == nil {
		d.heard = map[types.NamespacedName]map[string]heard{}
	}
	if d.heard[key] = after; len(after) == 0 {
		delete(d.heard, key)
	}
	return counting
}

// elsewhere returns what replicas state, for the book.
func elsewhere(requested map[string]quotav1alpha1.ReplicaDemand) []map[string]shape.Shape {
	stated := make([]map[string]shape.Shape, 0, len(requested))
	for _, r := range requested {
		asked := make(map[string]shape.Shape, len(r.Owners))
		for _, o := range r.Owners {
			asked[o.Owner] = shape.Shape{
				Amounts: amount.Saturate(o.Amounts, amount.Up), Unit: amount.Saturate(o.Unit, amount.Up),
			}
		}
		stated = append(stated, asked)
	}
	return stated
}

// StatementsChanged lets through what another replica states.
func StatementsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*quotav1alpha1.QuotaShare)
		after, both := e.ObjectNew.(*quotav1alpha1.QuotaShare)
		return ok && both && !equality.Semantic.DeepEqual(before.Status.DemandByReplica, after.Status.DemandByReplica)
	}}
}

// Follower states what the requests ask for that a replica without the lease has seen. The replica with the lease has
// it in the demand that it reports, with all else.
type Follower struct {
	// Demand is what this replica knows.
	Demand *Demand
	// Elected is closed when this replica has the lease.
	Elected <-chan struct{}

	writes sync.Map // the time of the last one, by share
}

// SetupWithManager registers the reconciler.
func (f *Follower) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("follower").
		WatchesRawSource(f.Demand.Source()).
		WithOptions(controller.Options{NeedLeaderElection: new(false), RateLimiter: backoff.RateLimiter()}).
		Complete(f)
}

// Reconcile states what this replica knows of the requests for a share that nobody else does.
func (f *Follower) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	select {
	case <-f.Elected:
		return ctrl.Result{}, nil
	default:
	}
	share := &quotav1alpha1.QuotaShare{}
	if err := f.Demand.Get(ctx, req.NamespacedName, share); err != nil {
		if apierrors.IsNotFound(err) {
			f.writes.Delete(req.NamespacedName)
			f.Demand.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := f.Demand.Clock.Now()
	owners, asked := f.Demand.owners(share, now), f.Demand.ping(share)
	since := agingInterval
	if last, wrote := f.writes.Load(req.NamespacedName); wrote {
		since = now.Sub(last.(time.Time))
	}
	interval, due := statesAnew(share.Status.DemandByReplica[f.Demand.Replica].Owners, owners, asked > share.Status.Ping)
	switch {
	case due && since < interval:
		return ctrl.Result{RequeueAfter: min(interval-since, agingInterval)}, nil
	case !due && since < agingInterval: // the cache may not know yet what was written
		return ctrl.Result{RequeueAfter: agingInterval}, nil
	case !due:
		return ctrl.Result{}, nil
	}
	if err := f.state(ctx, share, owners, asked, now); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f.writes.Store(req.NamespacedName, now)
	return ctrl.Result{RequeueAfter: agingInterval}, nil
}

// state writes the statement of this replica. It touches no other, and carries no resourceVersion.
func (f *Follower) state(
	ctx context.Context, share *quotav1alpha1.QuotaShare, owners []quotav1alpha1.OwnerDemand, asked int64, now time.Time,
) error {
	wanted := share.DeepCopy()
	wanted.Status.Ping = asked
	delete(wanted.Status.DemandByReplica, f.Demand.Replica)
	if len(owners) > 0 {
		if wanted.Status.DemandByReplica == nil {
			wanted.Status.DemandByReplica = map[string]quotav1alpha1.ReplicaDemand{}
		}
		wanted.Status.DemandByReplica[f.Demand.Replica] = quotav1alpha1.ReplicaDemand{
			RenewTime: metav1.NewMicroTime(now), Owners: owners,
		}
	}
	return f.Demand.Status().Patch(ctx, wanted, client.MergeFrom(share))
}

// owners returns what those need of whom this replica has seen requests.
func (d *Demand) owners(share *quotav1alpha1.QuotaShare, now time.Time) []quotav1alpha1.OwnerDemand {
	var owners []quotav1alpha1.OwnerDemand
	asked := d.Book.Asked(share, now)
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		owners = append(owners, quotav1alpha1.OwnerDemand{
			Owner:   key,
			Amounts: asked[key].Amounts.ToList(share.Spec.Hard),
			Unit:    asked[key].Unit.ToList(share.Spec.Hard),
		})
	}
	return owners
}

// statesAnew says whether a replica has to state something, and how long after the last time: to ask for more or for
// nothing at once, for less when that is due, and the same now and then.
func statesAnew(before, after []quotav1alpha1.OwnerDemand, asks bool) (interval time.Duration, due bool) {
	switch {
	case asks, rises(before, after), len(after) == 0 && len(before) > 0:
		return pace.UrgentReportInterval, true
	case !equality.Semantic.DeepEqual(before, after):
		return pace.ReportInterval, true
	default:
		return renewInterval, len(after) > 0
	}
}

// rises says whether an owner asks for more.
func rises(before, after []quotav1alpha1.OwnerDemand) bool {
	was := map[string]amount.List{}
	for _, o := range before {
		was[o.Owner] = amount.Saturate(o.Amounts, amount.Up)
	}
	return slices.ContainsFunc(after, func(o quotav1alpha1.OwnerDemand) bool {
		return !was[o.Owner].Covers(amount.Saturate(o.Amounts, amount.Up))
	})
}
