package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// unplaced returns a pod that asks for a CPU and no node has room for since then.
func unplaced(uid types.UID, since time.Time) demand.Pod {
	return demand.Pod{UID: uid, Owner: web.UID, Namespace: key.Namespace, Unplaced: since, Spec: spec("1")}
}

// TestUnscheduled has pods count that have waited for a node for a while, until they have one.
func TestUnscheduled(t *testing.T) {
	late := start.Add(pace.UnschedulableAfter)
	for name, tc := range map[string]struct {
		happens func(b *demand.Book)
		share   func(s *quotav1alpha1.QuotaShare)
		want    amount.List
		pending bool
	}{
		"none":         {happens: func(b *demand.Book) { b.SetPod(podOf("web", "1"), start) }},
		"for a while":  {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start), start); b.SetPod(unplaced("2", start), start) }, want: cpus(2, 2)},
		"for a moment": {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start.Add(1)), start) }, pending: true},
		"one has a node": {happens: func(b *demand.Book) {
			b.SetPod(unplaced("1", start), start)
			b.SetPod(unplaced("2", start), start)
			b.SetPod(podOf("web", "2"), late)
		}, want: cpus(1, 1)},
		"one is gone": {happens: func(b *demand.Book) {
			b.SetPod(unplaced("1", start), start)
			b.DeletePod(key.Namespace, "1", late)
		}},
		"in another namespace": {happens: func(b *demand.Book) {
			pod := unplaced("1", start)
			pod.Namespace = "other"
			b.SetPod(pod, start)
		}},
		"of a scope that is not counted": {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start), start) },
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
			}, want: amount.List{}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			tc.happens(b)
			if tc.share != nil {
				tc.share(s)
			}
			got, pending := b.Unscheduled(s, late)
			if diff := cmp.Diff(tc.want, got); diff != "" || pending != tc.pending {
				t.Errorf("pending: %t; -want +got:\n%s", pending, diff)
			}
		})
	}
}

// TestUnscheduledIsTold has a pod be told of that has waited for a while and has its node now, or is gone: nothing else
// may change then that a share is looked at for.
func TestUnscheduledIsTold(t *testing.T) {
	late := start.Add(pace.UnschedulableAfter)
	b := demand.NewBook()
	if b.SetPod(unplaced("1", start), start) || b.SetPod(unplaced("1", start), late) || b.SetPod(unplaced("2", start), late) {
		t.Error("a pod that waits on is told of")
	}
	if !b.SetPod(podOf("web", "1"), late) {
		t.Error("a pod that has its node is not told of")
	}
	if !b.DeletePod(key.Namespace, "2", late) {
		t.Error("a pod that is gone is not told of")
	}
}
