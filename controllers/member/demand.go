package member

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

const (
	// unblockingInterval is the least time between two reports of demand that there is no room for.
	unblockingInterval = 20 * time.Millisecond
	// agingInterval is how often demand is looked at that time alone changes.
	agingInterval = time.Second
)

// Demand is what the agent knows of the demand in its cluster, and how it comes into reports.
type Demand struct {
	client.Client
	// Clock tells how old a demand is.
	Clock clock.PassiveClock
	// Book holds it.
	Book *demand.Book
	// Replica is the name of this process among the replicas of the agent.
	Replica string
	// Asks says whether the status of a share shall ask for a sign of the hub; nil where no requests are held.
	Asks func(share types.NamespacedName) bool

	mutex  sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[ctrl.Request]
	poked  map[types.NamespacedName]map[types.UID]poke // the last one of each workload
	heard  map[types.NamespacedName]map[string]heard   // the last statement of each replica
}

// Report has the demand of a share looked at. It does not block.
func (d *Demand) Report(share types.NamespacedName) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, queue := range d.queues {
		queue.Add(ctrl.Request{NamespacedName: share})
	}
}

// reportNamespace has the demand of all shares of a namespace looked at.
func (d *Demand) reportNamespace(ctx context.Context, namespace string) {
	var shares quotav1alpha1.QuotaShareList
	if err := d.List(ctx, &shares, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list QuotaShares", "namespace", namespace)
		return
	}
	for i := range shares.Items {
		d.Report(client.ObjectKeyFromObject(&shares.Items[i]))
	}
}

// source makes a controller look at the shares whose demand has changed. Requests may have come before: the webhook is served
// earlier than controllers start.
func (d *Demand) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.queues = append(d.queues, queue)
		for _, share := range d.Book.Shares() {
			queue.Add(ctrl.Request{NamespacedName: share})
		}
		return nil
	})
}

// forget drops all that is known of a share that is gone.
func (d *Demand) forget(share types.NamespacedName) {
	d.Book.DeleteShare(share)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.poked, share)
	delete(d.heard, share)
}

// of returns the demand of a share, with what other replicas state, as a sum and by kind, and after what time to look again, 0 if
// nothing is pending.
func (d *Demand) of(share *quotav1alpha1.QuotaShare, requested map[string]quotav1alpha1.ReplicaDemand) (total corev1.ResourceList, asks []quotav1alpha1.DemandShape, after time.Duration) {
	needs, pending := d.Book.Demand(share, d.Clock.Now(), elsewhere(requested)...)
	for _, need := range needs {
		asks = append(asks, quotav1alpha1.DemandShape{Amounts: need.Amounts.ToList(share.Spec.Hard), Unit: need.Unit.ToList(share.Spec.Hard)})
	}
	if len(asks) > 0 {
		total = demand.Total(needs).ToList(share.Spec.Hard)
	}
	if pending || len(asks) > 0 {
		after = agingInterval
	}
	return total, asks, after
}

// full says whether a part of the demand of a share is left out because no node has room for it.
func (d *Demand) full(share *quotav1alpha1.QuotaShare) bool {
	return d.Book.Full(share, d.Clock.Now())
}

// asked returns how often the agent has asked whether the hub is there: once more while it asks and the hub has answered all
// questions before.
func (d *Demand) asked(share *quotav1alpha1.QuotaShare) int64 {
	if d.Asks == nil || !d.Asks(client.ObjectKeyFromObject(share)) {
		return share.Status.Ping
	}
	return max(share.Status.Ping, share.Spec.Pong+1)
}

// reportDemand reports with what the cluster could use, and wakes those that there is room for.
func (r *ShareReconciler) reportDemand(ctx context.Context, seen observation) (ctrl.Result, error) {
	var again time.Duration
	seen.requested = r.Demand.others(seen.share)
	seen.demand, seen.asks, again = r.Demand.of(seen.share, seen.requested)
	seen.full = r.Demand.full(seen.share)
	seen.asked = r.Demand.asked(seen.share)
	result, err := r.report(ctx, seen)
	if again > 0 {
		result = sooner(result, again)
	}
	if settled(seen) {
		r.Demand.poke(ctx, seen.share, seen.quota)
	}
	return result, err
}

// unblocks says whether somebody waits for the hub to read a report: more is lacked than was told, above the room there is, or
// nothing any more. Usage counts, too: others may ask while those go on that a report told of.
func unblocks(before, after *quotav1alpha1.QuotaShareStatus) bool {
	if len(after.Demand) == 0 {
		return len(before.Demand) > 0
	}
	wasAsked, asked := amount.Saturate(before.Demand, amount.Up), amount.Saturate(after.Demand, amount.Up)
	wasUsed, used := amount.Saturate(before.Used, amount.Up), amount.Saturate(after.Used, amount.Up)
	hard := amount.Saturate(after.Hard, amount.Down)
	for name, value := range asked {
		need, needed := amount.Add(used[name], value), amount.Add(wasUsed[name], wasAsked[name])
		if need > hard[name] && (value > wasAsked[name] || need > needed) {
			return true
		}
	}
	return false
}
