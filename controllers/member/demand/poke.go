package demand

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// pokeTimeout is how long a look at a share wakes workloads: a webhook of somebody else's that hangs may keep each of
// them waiting.
const pokeTimeout = 2 * time.Second

// poke is the last time that a workload was woken, or that this failed.
type poke struct {
	revision int64
	at       time.Time
	failed   bool
}

// failedAt returns when waking the workload failed, if it did the last time.
func (p poke) failedAt() time.Time {
	if !p.failed {
		return time.Time{}
	}
	return p.at
}

// due says whether a workload is to be woken at a revision: there is a new limit, or waking it failed, or it was
// refused and may have been once more under this one, by an API server that did not know the limit yet. One that was
// not refused may lack pods for another reason, as a Job does whose pods fail: waking it again would not end that.
func (p poke) due(revision int64, refused bool, now time.Time) bool {
	return p.revision != revision || (p.failed || refused) && now.Sub(p.at) >= pace.PokeInterval
}

// Wake wakes the workloads that were refused and that there is room for now: their controllers may sleep in back-off
// for minutes. Those that there is no time for are left to the next look, and those that could not be woken come last.
func (d *Demand) Wake(ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) {
	if share.Spec.Admission.Poke == quotav1alpha1.PokeDisabled {
		return
	}
	key, revision := client.ObjectKeyFromObject(share), nativequota.Revision(quota)
	room := amount.Sub(amount.Saturate(quota.Status.Hard, amount.Down), amount.Saturate(quota.Status.Used, amount.Up))
	before, now := d.pokesOf(key), d.Clock.Now()
	poked := map[types.UID]poke{}
	waking, done := context.WithTimeout(ctx, pokeTimeout)
	defer done()
	sleepers := d.Book.Asleep(share, now)
	slices.SortStableFunc(
		sleepers, func(a, b demand.Sleeper) int { return before[a.UID].failedAt().Compare(before[b.UID].failedAt()) },
	)
	for _, sleeper := range sleepers {
		poked[sleeper.UID] = before[sleeper.UID]
		if waking.Err() != nil || !poked[sleeper.UID].due(revision, sleeper.Refused, now) ||
			!room.Covers(sleeper.Unit.Only(room)) {
			continue
		}
		poked[sleeper.UID] = poke{revision: revision, at: now}
		if err := d.wake(waking, object(sleeper.Owner, share.Namespace), now); err != nil {
			poked[sleeper.UID] = poke{revision: revision, at: now, failed: true}
			ctrl.LoggerFrom(ctx).Info("Waking a workload failed", "kind", sleeper.Kind, "namespace", share.Namespace,
				"workload", sleeper.Name, "err", err.Error())
			continue
		}
		room = amount.Sub(room, sleeper.Need())
		ctrl.LoggerFrom(ctx).Info("Woke a workload that was refused", "kind", sleeper.Kind, "namespace", share.Namespace,
			"workload", sleeper.Name, "missing", sleeper.Missing)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.poked == nil {
		d.poked = map[types.NamespacedName]map[types.UID]poke{}
	}
	if d.poked[key] = poked; len(poked) == 0 {
		delete(d.poked, key)
	}
}

func (d *Demand) pokesOf(share types.NamespacedName) map[types.UID]poke {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.poked[share]
}

// wake annotates a workload: a controller looks at an object again only if it has changed. By the subresource, the
// right to do so is none to change what the workload runs: it takes no change of a spec.
func (d *Demand) wake(ctx context.Context, workload client.Object, now time.Time) error {
	return d.Status().Patch(ctx, workload, patches.Merge{"metadata": map[string]any{
		"annotations": map[string]any{quotav1alpha1.PokedAnnotation: now.UTC().Format(time.RFC3339Nano)},
	}})
}

// object returns the object of a workload.
func object(owner demand.Owner, namespace string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: owner.Name}
	switch owner.Kind {
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta}
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: meta}
	case "ReplicationController":
		return &corev1.ReplicationController{ObjectMeta: meta}
	case "Job":
		return &batchv1.Job{ObjectMeta: meta}
	default:
		return &appsv1.ReplicaSet{ObjectMeta: meta}
	}
}
