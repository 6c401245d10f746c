// Package demand learns what the cluster could use beyond what it uses, for the reports of shares, and wakes workloads
// that were refused once there is room for them.
package demand

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
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/pace"
)

// agingInterval is how often demand is looked at that time alone changes.
const agingInterval = time.Second

// Demand is what the agent knows of the demand in its cluster, and how it comes into reports.
type Demand struct {
	client.Client
	// Clock tells how old a demand is.
	Clock clock.PassiveClock
	// Book holds it.
	Book *demand.Book
	// Nodes are those of the cluster.
	Nodes *capacity.Nodes
	// Replica is the name of this process among the replicas of the agent.
	Replica string
	// Pings says whether the status of a share shall ping the hub; nil where no requests are held.
	Pings func(share types.NamespacedName) bool

	mutex  sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[ctrl.Request]
	poked  map[types.NamespacedName]map[types.UID]poke // the last one of each workload
	heard  map[types.NamespacedName]map[string]heard   // the last statement of each replica
	summed time.Time                                   // when the book was told last what nodes have
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

// Source makes a controller look at the shares whose demand has changed. Requests may have come before: the webhook is
// served earlier than controllers start.
func (d *Demand) Source() source.Source {
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

// Forget drops all that is known of a share that is gone.
func (d *Demand) Forget(share types.NamespacedName) {
	d.Book.DeleteShare(share)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.poked, share)
	delete(d.heard, share)
}

// Seen is what is known of the demand of a share at an instant.
type Seen struct {
	// Total is what the cluster could use beyond what it uses, and Shapes split it by what one request asks for.
	Total  corev1.ResourceList
	Shapes []quotav1alpha1.DemandShape
	// Expected is what the next request is expected to ask for.
	Expected corev1.ResourceList
	// ByReplica is what other replicas of the agent state, which Total contains.
	ByReplica map[string]quotav1alpha1.ReplicaDemand
	// Replacing is what workloads have given up to replace their pods.
	Replacing corev1.ResourceList
	// Unscheduled is what pods that wait for a node are charged.
	Unscheduled corev1.ResourceList
	// Stranded are those of these pods that no node has room for, by shape.
	Stranded []quotav1alpha1.DemandShape
	// NodesFull says whether a part of the demand is left out because no node has room for it.
	NodesFull bool
	// Ping is what the status of the share pings the hub with.
	Ping int64
	// After is after what time to look again, 0 if nothing is pending.
	After time.Duration
}

// See returns what is known of the demand of a share.
func (d *Demand) See(share *quotav1alpha1.QuotaShare) Seen {
	now := d.Clock.Now()
	if len(share.Spec.MostAllocatable) > 0 {
		d.sum(now)
	}
	seen := Seen{ByReplica: d.others(share), NodesFull: d.Book.Full(share, now), Ping: d.ping(share)}
	needs, pending := d.Book.Demand(share, now, elsewhere(seen.ByReplica)...)
	seen.Shapes = listed(needs, share)
	if len(needs) > 0 {
		seen.Total = shape.Total(needs).ToList(share.Spec.Hard)
	}
	if expected := d.Book.Expected(share, now); len(expected) > 0 {
		seen.Expected, pending = expected.ToList(share.Spec.Hard), true
	}
	unscheduled, waiting := d.Book.Unscheduled(share, now)
	if len(unscheduled) > 0 {
		seen.Unscheduled, seen.Stranded = unscheduled.ToList(share.Spec.Hard), d.stranded(share, now)
	}
	var rolling bool
	seen.Replacing, rolling = d.replacing(share)
	if pending || waiting || rolling || len(needs) > 0 {
		seen.After = agingInterval
	}
	return seen
}

// listed returns shapes as the status of a share has them.
func listed(shapes []shape.Shape, share *quotav1alpha1.QuotaShare) []quotav1alpha1.DemandShape {
	var list []quotav1alpha1.DemandShape
	for _, s := range shapes {
		list = append(list, quotav1alpha1.DemandShape{
			Amounts: s.Amounts.ToList(share.Spec.Hard), Unit: s.Unit.ToList(share.Spec.Hard),
		})
	}
	return list
}

// stranded returns the pods that no node has room for, none while the nodes are not known.
func (d *Demand) stranded(share *quotav1alpha1.QuotaShare, now time.Time) []quotav1alpha1.DemandShape {
	if d.Nodes == nil || !d.Nodes.Known() {
		return nil
	}
	return listed(d.Book.Stranded(share, now, func(requests amount.List) bool {
		return d.Nodes.Fits(requests, now, pace.NodeGrace)
	}), share)
}

// sum tells the book what the nodes of the cluster have, once in a while.
func (d *Demand) sum(now time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.Nodes == nil || !d.Nodes.Known() || now.Sub(d.summed) < agingInterval {
		return
	}
	d.summed = now
	d.Book.SetAllocatable(d.Nodes.Report(now, pace.NodeGrace).Allocatable)
}

// Replacing returns what workloads have given up to replace their pods.
func (d *Demand) Replacing(share *quotav1alpha1.QuotaShare) corev1.ResourceList {
	replacing, _ := d.replacing(share)
	return replacing
}

func (d *Demand) replacing(share *quotav1alpha1.QuotaShare) (replacing corev1.ResourceList, pending bool) {
	amounts, pending := d.Book.Replacing(share, d.Clock.Now())
	if len(amounts) == 0 {
		return nil, pending
	}
	return amounts.ToList(share.Spec.Hard), pending
}

// ping returns what the status of a share pings the hub with: one more than the hub has seen, while the agent waits for
// a sign of it.
func (d *Demand) ping(share *quotav1alpha1.QuotaShare) int64 {
	if d.Pings == nil || !d.Pings(client.ObjectKeyFromObject(share)) {
		return share.Status.Ping
	}
	return max(share.Status.Ping, share.Spec.Pong+1)
}
