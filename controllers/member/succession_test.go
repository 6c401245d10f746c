package member_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// renamed is a world in which a budget was deleted that 8 pods are in use of, and the share of one with another name has
// come.
func renamed(t *testing.T, pairs ...string) (w *world, old client.ObjectKey) {
	t.Helper()
	w = settled(t, 7, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	old = w.key
	w.key.Name = "renamed"
	w.share(3, pairs...)
	return w, old
}

// stays says whether a ResourceQuota is there.
func (w *world) stays(key client.ObjectKey) bool {
	w.t.Helper()
	err := w.hub.Get(w.t.Context(), key, &corev1.ResourceQuota{})
	must(w.t, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

// TestSuccession has a budget come under another name: its ResourceQuota is never below what the old one lets be used,
// and that goes when the new one is in force, not before.
func TestSuccession(t *testing.T) {
	w, old := renamed(t, "pods", "0", "services", "0")
	w.reconcile()
	w.wantsQuota("3", "pods", "8", "services", "0")
	w.wantsConditions()
	w.reconcile() // not counted yet
	w.wantsQuota("3", "pods", "8", "services", "0")
	if !w.stays(old) {
		t.Fatal("the old ResourceQuota is gone before the new one limits anything")
	}
	w.count("pods", "8", "services", "0")
	w.reconcile()
	if w.stays(old) {
		t.Error("the old ResourceQuota stays beside the new one")
	}
	w.wantsReport(3, l{"pods", "8", "services", "0"}, l{"pods", "8", "services", "0"})
	w.reconcile()
	w.wantsConditions()
	w.share(4, "pods", "20", "services", "0")
	w.reconcile()
	w.wantsReport(4, l{"pods", "20", "services", "0"}, l{"pods", "8", "services", "0"})
}

// TestSuccessionIsTold has the agent say of which ResourceQuota it has taken the place.
func TestSuccessionIsTold(t *testing.T) {
	w, old := renamed(t, "pods", "0")
	w.reconcile()
	w.count("pods", "8")
	w.reconcile()
	var told []string
	for recorder := w.agent.Recorder.(*events.FakeRecorder); len(recorder.Events) > 0; {
		told = append(told, <-recorder.Events)
	}
	want := "Normal Succeeded ResourceQuota " + old.String() + " is deleted"
	if !slices.ContainsFunc(told, func(event string) bool { return strings.HasPrefix(event, want) }) {
		t.Errorf("got %q, want one that begins with %q", told, want)
	}
}

// TestNoSuccession has budgets that do not take the place of what another one has left.
func TestNoSuccession(t *testing.T) {
	for name, change := range map[string]func(w *world, old client.ObjectKey){
		"a team keeps it for itself": func(w *world, old client.ObjectKey) {
			q := &corev1.ResourceQuota{}
			must(t, w.hub.Get(t.Context(), old, q))
			delete(q.Annotations, "quota.fedquota.io/released")
			must(t, as(t, tenant).Update(t.Context(), q))
		},
		"it limits more": func(w *world, old client.ObjectKey) {
			q := &corev1.ResourceQuota{}
			must(t, w.hub.Get(t.Context(), old, q))
			q.Spec.Hard = list("pods", "8", "secrets", "3")
			must(t, as(t, tenant).Update(t.Context(), q))
		},
		"its own budget comes back": func(w *world, old client.ObjectKey) {
			mine := w.key
			w.key = old
			w.scoped(1, nil, "pods", "8")
			w.key = mine
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, old := renamed(t, "pods", "0")
			change(w, old)
			w.reconcile()
			w.count("pods", "8")
			w.reconcile()
			w.wantsConditions("ForeignQuota")
			if !w.stays(old) {
				t.Error("it is gone")
			}
		})
	}
}

// TestSuccessionAsItWasRead has a team limit more by the old ResourceQuota right before it would go.
func TestSuccessionAsItWasRead(t *testing.T) {
	w, old := renamed(t, "pods", "0")
	w.reconcile()
	w.count("pods", "8")
	tried := false
	w.agent.Client = precededDelete(as(t, agent), func() {
		tried = true
		q := &corev1.ResourceQuota{}
		must(t, w.hub.Get(t.Context(), old, q))
		q.Spec.Hard = list("pods", "8", "secrets", "3")
		must(t, as(t, tenant).Update(t.Context(), q))
	})
	w.reconcile()
	if !tried || !w.stays(old) {
		t.Errorf("tried to delete it: %t; it stays: %t", tried, w.stays(old))
	}
}
