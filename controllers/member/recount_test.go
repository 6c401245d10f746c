package member_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/member/recount"
)

// TestRecount has the quota controller write other usage than there is.
func TestRecount(t *testing.T) {
	tests := map[string]struct{ written, want l }{
		"a pod left out":                 {written: l{"pods", "1", "requests.cpu", "1"}, want: l{"pods", "2", "requests.cpu", "2"}},
		"one name alone":                 {written: l{"pods", "2", "requests.cpu", "1500m"}, want: l{"pods", "2", "requests.cpu", "2"}},
		"right":                          {written: l{"pods", "2", "requests.cpu", "2"}, want: l{"pods", "2", "requests.cpu", "2"}},
		"too much, which is not lowered": {written: l{"pods", "3", "requests.cpu", "3"}, want: l{"pods", "3", "requests.cpu", "3"}},
		"what is not of pods is left":    {written: l{"pods", "1", "requests.cpu", "2", "services", "0"}, want: l{"pods", "2", "requests.cpu", "2", "services", "0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "4", "requests.cpu", "4", "services", "1"}, l{"pods", "0", "requests.cpu", "0", "services", "0"})
			w.runs("a", corev1.PodPending)
			w.runs("b", corev1.PodPending)
			w.runs("ended", corev1.PodSucceeded)
			w.count(tt.written...)
			w.recount(as(t, agent))
			if diff := cmp.Diff(list(tt.want...), w.quota().Status.Used); diff != "" {
				t.Errorf("status.used (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecountOfScopes counts only those pods that the scopes select.
func TestRecountOfScopes(t *testing.T) {
	w := newWorld(t)
	w.scoped(1, []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}, "pods", "4")
	w.reconcile()
	w.count("pods", "0")
	w.runs("burstable", corev1.PodPending)
	w.recount(as(t, agent))
	if used := w.quota().Status.Used["pods"]; used.Sign() != 0 {
		t.Errorf("%s pods are used, of which none is of the scope", used.String())
	}
}

// TestRecountOfClaims counts the claims that a StatefulSet has made while limits moved, and no pods where none are limited.
func TestRecountOfClaims(t *testing.T) {
	limits := l{"persistentvolumeclaims", "4", "requests.storage", "8Gi", "gold.storageclass.storage.k8s.io/requests.storage", "8Gi"}
	w := settled(t, 1, limits, l{"persistentvolumeclaims", "0", "requests.storage", "0", "gold.storageclass.storage.k8s.io/requests.storage", "0"})
	w.claims("a", "gold")
	w.claims("b", "")
	w.count("persistentvolumeclaims", "1", "requests.storage", "1Gi", "gold.storageclass.storage.k8s.io/requests.storage", "1Gi")
	w.recount(as(t, agent))
	want := list("persistentvolumeclaims", "2", "requests.storage", "2Gi", "gold.storageclass.storage.k8s.io/requests.storage", "1Gi")
	if diff := cmp.Diff(want, w.quota().Status.Used); diff != "" {
		t.Errorf("status.used (-want +got):\n%s", diff)
	}
}

// claims creates a claim for 1Gi of a storage class.
func (w *world) claims(name, class string) {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: list("storage", "1Gi")},
		},
	}
	must(w.t, as(w.t, admin).Create(w.t.Context(), claim))
}

// TestRecountDuringACharge has a pod come while pods are counted: what was charged meanwhile is not undone.
func TestRecountDuringACharge(t *testing.T) {
	w := settled(t, 1, l{"pods", "4"}, l{"pods", "0"})
	w.runs("a", corev1.PodPending)
	w.count("pods", "0")
	stale := &charging{Reader: as(t, agent), charge: func() { w.count("pods", "3") }}
	w.recount(stale)
	if used := w.quota().Status.Used["pods"]; used.Value() != 3 {
		t.Errorf("%s pods are used, want 3", used.String())
	}
	stale.charge = func() {}
	w.count("pods", "0")
	w.recount(stale)
	if used := w.quota().Status.Used["pods"]; used.Value() != 1 {
		t.Errorf("%s pods are used in the end, want 1", used.String())
	}
}

// TestRecountWhilePodsEnd has a pod end after it was listed. The quota controller, which had left it out, finds nothing
// to change then.
func TestRecountWhilePodsEnd(t *testing.T) {
	w := settled(t, 1, l{"pods", "4"}, l{"pods", "0"})
	w.runs("a", corev1.PodPending)
	w.runs("b", corev1.PodPending)
	w.count("pods", "0")
	w.recount(&ending{Reader: as(t, agent), end: func() { w.ends("b") }})
	if used := w.quota().Status.Used["pods"]; used.Value() != 1 {
		t.Errorf("%s pods are used, want 1", used.String())
	}
}

// ending has something happen after pods were listed for the first time.
type ending struct {
	client.Reader
	end  func()
	once sync.Once
}

func (e *ending) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	defer e.once.Do(e.end)
	return e.Reader.List(ctx, list, opts...)
}

// charging has something happen after a ResourceQuota was read.
type charging struct {
	client.Reader
	charge func()
}

func (c *charging) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.charge()
	return c.Reader.List(ctx, list, opts...)
}

// runs creates a pod that asks for a cpu.
func (w *world) runs(name string, phase corev1.PodPhase) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: list("cpu", "1")},
		}}},
	}
	must(w.t, as(w.t, admin).Create(w.t.Context(), pod))
	pod.Status.Phase = phase
	must(w.t, as(w.t, admin).Status().Update(w.t.Context(), pod))
}

// ends deletes a pod at once.
func (w *world) ends(name string) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name}}
	must(w.t, as(w.t, admin).Delete(w.t.Context(), pod, client.GracePeriodSeconds(0)))
}

func (w *world) recount(live client.Reader) {
	w.t.Helper()
	r := &recount.Reconciler{Client: as(w.t, agent), Live: live, Clock: w.clock}
	_, err := r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	must(w.t, err)
}
