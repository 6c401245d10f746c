package member

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// poke wakes the workloads that were refused and that there is room for now, each once per revision: their controllers may
// sleep in back-off for minutes. A poke that fails is not repeated: the controller wakes in its own time.
func (d *Demand) poke(ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) {
	if d == nil || share.Spec.Admission.Poke == quotav1alpha1.PokeDisabled {
		return
	}
	key, revision := client.ObjectKeyFromObject(share), revisionOf(quota)
	room := amount.Sub(amount.Saturate(quota.Status.Hard, amount.Down), amount.Saturate(quota.Status.Used, amount.Up))
	before := d.pokedAt(key)
	poked := map[types.UID]int64{}
	for _, sleeper := range d.Book.Asleep(share, d.Clock.Now()) {
		poked[sleeper.UID] = before[sleeper.UID]
		if poked[sleeper.UID] == revision || !room.Covers(sleeper.Unit.Only(room)) {
			continue
		}
		poked[sleeper.UID] = revision
		room = amount.Sub(room, sleeper.Need())
		if err := d.Patch(ctx, object(sleeper.Owner, share.Namespace), pokePatch(revision)); err != nil {
			ctrl.LoggerFrom(ctx).Info("Waking a workload failed", "kind", sleeper.Kind, "workload", sleeper.Name, "error", err.Error())
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Woke a workload that was refused", "kind", sleeper.Kind, "workload", sleeper.Name, "missing", sleeper.Missing)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.poked == nil {
		d.poked = map[types.NamespacedName]map[types.UID]int64{}
	}
	if d.poked[key] = poked; len(poked) == 0 {
		delete(d.poked, key)
	}
}

func (d *Demand) pokedAt(share types.NamespacedName) map[types.UID]int64 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.poked[share]
}

func pokePatch(revision int64) client.Patch {
	return client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+quotav1alpha1.PokedAnnotation+`":"`+strconv.FormatInt(revision, 10)+`"}}}`))
}

// object returns the object of a workload.
func object(owner demand.Owner, namespace string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: owner.Name}
	switch owner.Kind {
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta}
	case "Job":
		return &batchv1.Job{ObjectMeta: meta}
	default:
		return &appsv1.ReplicaSet{ObjectMeta: meta}
	}
}
