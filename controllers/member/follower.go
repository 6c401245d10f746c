package member

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
)

// note is what a replica remembers of the demand in a share's status.
type note struct {
	wrote corev1.ResourceList // by this replica, last
	when  time.Time
	// foreign is what another replica wrote, seen first at since.
	foreign corev1.ResourceList
	since   time.Time
}

// withForeign returns own, but no less than what another replica stated within the time that a request counts: that one has
// seen requests which this one has not.
func (d *Demand) withForeign(share *quotav1alpha1.QuotaShare, own corev1.ResourceList, now time.Time) corev1.ResourceList {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	key := client.ObjectKeyFromObject(share)
	n, known := d.notes[key]
	stored := share.Status.Demand
	switch {
	case len(stored) == 0 || quotav1.Equals(stored, n.wrote):
		n.foreign = nil
	case !quotav1.Equals(stored, n.foreign):
		n.foreign, n.since = stored, now
	}
	if known || n.foreign != nil {
		d.note(key, n)
	}
	if n.foreign == nil || now.Sub(n.since) >= demand.Memory {
		return own
	}
	return quotav1.Mask(quotav1.Max(own, n.foreign), quotav1.ResourceNames(share.Spec.Hard))
}

func (d *Demand) note(key types.NamespacedName, n note) {
	if d.notes == nil {
		d.notes = map[types.NamespacedName]note{}
	}
	d.notes[key] = n
}

// wrote remembers what this replica reported.
func (d *Demand) wrote(share *quotav1alpha1.QuotaShare) {
	if d == nil {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.note(client.ObjectKeyFromObject(share), note{wrote: share.Status.Demand, when: d.Clock.Now()})
}

// mine says whether the demand that is stored was written by this replica, and when.
func (d *Demand) mine(share *quotav1alpha1.QuotaShare) (bool, time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	n := d.notes[client.ObjectKeyFromObject(share)]
	return len(n.wrote) > 0 && quotav1.Equals(share.Status.Demand, n.wrote), n.when
}

// Follower reports the demand of the requests that a replica without the lease has seen: it raises what is reported, and
// lowers what it has raised. All else is reported by the replica with the lease.
type Follower struct {
	// Demand is what this replica knows.
	Demand *Demand
	// Elected is closed when this replica has the lease.
	Elected <-chan struct{}
}

// SetupWithManager registers the reconciler.
func (f *Follower) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("follower").
		WatchesRawSource(f.Demand.source()).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(f)
}

// Reconcile reports the demand of a share if this replica knows of requests that nobody else does.
func (f *Follower) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	select {
	case <-f.Elected:
		return ctrl.Result{}, nil
	default:
	}
	share := &quotav1alpha1.QuotaShare{}
	if err := f.Demand.Get(ctx, req.NamespacedName, share); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	mine, when := f.Demand.mine(share)
	if !mine && !f.Demand.Book.Refused(req.NamespacedName) {
		return ctrl.Result{}, nil
	}
	wanted := share.DeepCopy()
	var again time.Duration
	wanted.Status.Demand, again = f.Demand.of(share)
	wanted.Status.Asked = f.Demand.asked(share)
	result := ctrl.Result{RequeueAfter: again}
	due := mine && f.Demand.Clock.Since(when) >= reportInterval
	if !worthReporting(&share.Status, &wanted.Status, due) {
		return result, nil
	}
	if err := f.Demand.Status().Patch(ctx, wanted, client.MergeFrom(share)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f.Demand.wrote(wanted)
	return result, nil
}

// worthReporting says whether a replica without the lease shall replace one status by another: to ask for the hub or for room
// at once, and to take back what it has asked for when that is due.
func worthReporting(before, after *quotav1alpha1.QuotaShareStatus, due bool) bool {
	if after.Asked > before.Asked {
		return true
	}
	return !quotav1.Equals(before.Demand, after.Demand) && (due || unblocks(before, after))
}
