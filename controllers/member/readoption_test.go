package member_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestReadoption selects a cluster again that was let go, and whose users have changed what was left to them.
func TestReadoption(t *testing.T) {
	for name, tc := range map[string]struct {
		hard, used, want string
	}{
		"as it was left":                {hard: "8", used: "8", want: "8"},
		"less is used than the share":   {hard: "8", used: "2", want: "5"},
		"raised and used meanwhile":     {hard: "40", used: "30", want: "30"},
		"raised and not used":           {hard: "40", used: "1", want: "5"},
		"used above its limit":          {hard: "3", used: "9", want: "5"},
		"nothing is used, nothing left": {hard: "0", used: "0", want: "5"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 7, l{"pods", "10"}, l{"pods", "8"})
			uid := w.quota().UID
			w.leave("Retain")
			w.reconcile()
			q := w.quota()
			q.Spec.Hard = list("pods", tc.hard)
			must(t, as(t, tenant).Update(t.Context(), q))
			w.count("pods", tc.used)

			w.share(8, "pods", "5")
			w.reconcile()
			w.wantsQuota("8", "pods", tc.want)
			q = w.quota()
			_, noted := q.Annotations["quota.fedquota.io/note"]
			if _, released := q.Annotations["quota.fedquota.io/released"]; released || noted || q.Labels[managedLabel] != "true" || q.UID != uid {
				t.Errorf("labels %v, annotations %v: want it taken over in place", q.Labels, q.Annotations)
			}
			w.wantsReport(8, l{"pods", tc.want}, l{"pods", tc.used})
			w.wantsReason("Enforced")
		})
	}
}

// TestLateShareAfterRelease has a share come into being that the hub decided on before the cluster left: what it grants
// has been given to others since.
func TestLateShareAfterRelease(t *testing.T) {
	w := settled(t, 5, l{"pods", "10"}, l{"pods", "0"})
	w.share(6, "pods", "0")
	w.reconcile()
	w.leave("Retain")
	w.reconcile()
	w.share(5, "pods", "10")
	w.unwritten(func() { w.reconcile() })
	w.wantsQuota("", "pods", "0")
	w.wantsReport(0, nil, nil)
	w.wantsReason("NameTaken")
	if c := apimeta.FindStatusCondition(w.status().Status.Conditions, "Enforced"); !strings.Contains(c.Message, "released at revision 6") {
		t.Errorf("message %q, want it to say at which revision it was released", c.Message)
	}

	w.share(7, "pods", "3")
	w.reconcile()
	w.wantsReport(7, l{"pods", "3"}, l{"pods", "0"})
	w.wantsReason("Enforced")
}

// TestReadoptionAtTheSameRevision has the hub select the cluster again before it has seen that the share is gone: its
// entry keeps the revision, within which no limit goes up, and the hub confirms what is in force by another one.
func TestReadoptionAtTheSameRevision(t *testing.T) {
	w := settled(t, 5, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	w.share(5, "pods", "10")
	w.reconcile()
	w.wantsReport(5, l{"pods", "8"}, l{"pods", "8"})
	w.share(6, "pods", "10")
	w.reconcile()
	w.wantsReport(6, l{"pods", "10"}, l{"pods", "8"})
}

// TestReadoptionOfUnknownRevision takes over what does not say at which revision it was released.
func TestReadoptionOfUnknownRevision(t *testing.T) {
	w := settled(t, 5, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	q := w.quota()
	q.Annotations["quota.fedquota.io/released"] = "true"
	must(t, as(t, tenant).Update(t.Context(), q))
	w.share(1, "pods", "10")
	w.reconcile()
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "8"})
}

// TestTakesOverAsItWasRead has a team keep a released ResourceQuota for itself, right before it is taken over.
func TestTakesOverAsItWasRead(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	w.share(2, "pods", "5")
	w.agent.Client = preceded(as(t, agent), func() bool {
		q := w.quota()
		delete(q.Annotations, "quota.fedquota.io/released")
		must(t, as(t, tenant).Update(t.Context(), q))
		return false
	})
	w.reconcile()
	w.wantsQuota("", "pods", "8")
}

// TestCreatesForTheShareThatIsThere has an agent without a ResourceQuota whose cache shows what the share was.
func TestCreatesForTheShareThatIsThere(t *testing.T) {
	for name, since := range map[string]func(w *world){
		"deleted": func(w *world) {
			w.leave("Delete")
			w.reconcile()
		},
		"created again": func(w *world) {
			w.leave("Delete")
			w.reconcile()
			w.share(1, "pods", "10")
		},
		"about to go": func(w *world) { w.leave("Delete") },
		"changed":     func(w *world) { w.share(2, "pods", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.share(1, "pods", "10")
			stale := w.status()
			since(w)
			second := w.newAgent()
			second.Client = frozen(as(t, agent), stale)
			if result, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err != nil || !soon(result) {
				t.Errorf("got %+v, %v, want another look, once the cache has caught up", result, err)
			}
			if err := w.hub.Get(t.Context(), w.key, &corev1.ResourceQuota{}); !apierrors.IsNotFound(err) {
				t.Errorf("got %v, want no ResourceQuota", err)
			}
		})
	}
}

func TestNoReadoption(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	w.scoped(2, []corev1.ResourceQuotaScope{"BestEffort"}, "pods", "4")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")

	w.leave("Retain")
	w.unwritten(func() { w.reconcile() })
	q := w.quota()
	delete(q.Annotations, "quota.fedquota.io/released")
	must(t, as(t, tenant).Update(t.Context(), q))
	w.share(3, "pods", "4")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
}

// TestStaleDelete has a second agent, whose cache still shows the share that left, meet the ResourceQuota of the one
// that came since.
func TestStaleDelete(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Delete")
	stale := w.status()
	w.reconcile()
	w.share(2, "pods", "20")
	w.reconcile()
	w.count("pods", "3")
	w.reconcile()
	w.wantsReport(2, l{"pods", "20"}, l{"pods", "3"})

	second := w.newAgent()
	second.Client = frozen(as(t, agent), stale)
	if result, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err == nil && !soon(result) {
		t.Error("want a conflict and another look")
	}
	w.wantsQuota("2", "pods", "20")
}

// TestStaleRelease has a second agent meet what the first has taken over again.
func TestStaleRelease(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	share, q := w.status(), w.quota()
	w.reconcile()
	w.count("pods", "3")
	w.share(2, "pods", "4")
	w.reconcile()
	w.wantsQuota("2", "pods", "4")

	second := w.newAgent()
	second.Client = frozen(as(t, agent), share, q)
	if result, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err == nil && !soon(result) {
		t.Error("want a refusal, or a conflict and another look")
	}
	w.wantsQuota("2", "pods", "4")
	w.reconcile()
	w.wantsReport(2, l{"pods", "4"}, l{"pods", "3"})
}

// TestReleasesWhatItRead has a second agent release, by what it read before, what the first has released and taken over
// again: a revision that is not the last one would be noted.
func TestReleasesWhatItRead(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "3"})
	w.leave("Retain")
	second := w.newAgent()
	second.Client = preceded(as(t, agent), func() bool {
		w.reconcile()
		w.share(2, "pods", "4")
		w.reconcile()
		return false
	})
	if _, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err == nil {
		t.Error("want a refusal")
	}
	w.wantsQuota("2", "pods", "4")
}

// TestLateAfterRelease has a second agent go on, after the first has released the ResourceQuota, with a write that it
// had decided before: guard and fence judge that no more, and the cluster is granted nothing. It does not rest on the
// policy fedquota-agent, which a member of an earlier version does not have.
func TestLateAfterRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		late func(client.WithWatch, func() bool) client.WithWatch
		// before says that it was released once before.
		before bool
	}{
		"limit":          {late: preceded},
		"limit in force": {late: precededInForce},
		"take-over":      {late: preceded, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "0"})
			if tc.before {
				w.leave("Retain")
				w.reconcile()
			}
			w.share(2, "pods", "50")
			second := w.newAgent()
			second.Client = tc.late(as(t, agent), func() bool {
				w.share(3, "pods", "0")
				w.reconcile()
				w.leave("Retain")
				w.reconcile()
				return false
			})
			_, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
			t.Logf("the second agent: %v", err)
			if apierrors.IsForbidden(err) {
				t.Errorf("a policy had to refuse the write: %v", err)
			}
			w.wantsQuota("", "pods", "0")
			if diff := cmp.Diff(list("pods", "0"), w.quota().Status.Hard); diff != "" {
				t.Errorf("in force (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReleasedTwice has a second agent release, by what it read before, what the first has released.
func TestReleasedTwice(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	second := w.newAgent()
	second.Client = preceded(as(t, agent), func() bool {
		w.count("pods", "3")
		w.reconcile()
		return false
	})
	_, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
	t.Logf("the second agent: %v", err)
	w.wantsQuota("", "pods", "3")
}

// TestReleasedIsNotTakenBack has a second agent whose cache still shows the share on whose account the first has
// released.
func TestReleasedIsNotTakenBack(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	stale := w.status()
	w.leave("Retain")
	w.reconcile()
	second := w.newAgent()
	second.Client = frozen(as(t, agent), stale)
	if result, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err != nil || !soon(result) {
		t.Errorf("got %+v, %v, want another look, since the share may be there", result, err)
	}
	w.wantsQuota("", "pods", "8")
}

// TestReadoptionAfterRestart takes over by an agent that ends right after its first write.
func TestReadoptionAfterRestart(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Retain")
	w.reconcile()
	w.share(2, "pods", "5")
	writes := 0
	w.agent.Client = dying(as(t, agent), func() bool { writes++; return writes > 1 })
	if _, err := w.try(); err == nil {
		t.Error("want the agent to have ended")
	}
	w.agent = w.newAgent()
	w.reconcile()
	w.wantsReport(2, l{"pods", "8"}, l{"pods", "8"})
}
