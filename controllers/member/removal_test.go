package member_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// breakGlass states a reason, or takes it away.
func (w *world) breakGlass(reason string) {
	w.t.Helper()
	q := w.quota()
	metav1.SetMetaDataAnnotation(&q.ObjectMeta, glassAnnotation, reason)
	if reason == "" {
		delete(q.Annotations, glassAnnotation)
	}
	must(w.t, as(w.t, tenant).Update(w.t.Context(), q))
}

func TestBreakGlass(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.breakGlass("the hub is down")
	w.share(2, "pods", "5")
	w.unwritten(func() { w.reconcile() })
	w.wantsConditions("BreakGlass")
	w.wantsReason("Pending")

	q := w.quota()
	q.Spec.Hard = list("pods", "50")
	must(t, as(t, tenant).Update(t.Context(), q))
	w.count("pods", "40")
	w.unwritten(func() { w.reconcile() })
	// What is in force and used is no secret: the hub charges it.
	w.pass()
	w.reconcile()
	w.wantsReport(1, l{"pods", "50"}, l{"pods", "40"})

	w.breakGlass("")
	w.reconcile()
	w.wantsQuota("2", "pods", "40")
	w.wantsReport(2, l{"pods", "40"}, l{"pods", "40"})
	w.wantsConditions()
}

// TestAnotherInItsPlace has somebody put a ResourceQuota of their own in the place of one that was deleted behind
// broken glass, while the agent is away: what is in force there counts as before, and the agent takes it for no limit
// of its own.
func TestAnotherInItsPlace(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.breakGlass("the hub is down")
	must(t, as(t, tenant).Delete(t.Context(), w.quota()))
	quota("compute").hard("pods", "50").create(t, w.key.Namespace)
	w.count("pods", "40")
	w.share(2, "pods", "5")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
	w.wantsReport(1, l{"pods", "50"}, l{"pods", "40"})

	must(t, as(t, tenant).Delete(t.Context(), w.quota()))
	w.reconcile()
	w.count("pods", "40")
	w.reconcile()
	w.wantsReport(2, l{"pods", "5"}, l{"pods", "40"})
	w.wantsReason("Enforced")
}

func TestRemovalRetain(t *testing.T) {
	w := settled(t, 1, l{"pods", "10", "services", "5"}, l{"pods", "8", "services", "0"})
	w.leave("Retain")
	w.reconcile()
	if !w.gone() {
		t.Error("the share is still there")
	}
	w.wantsQuota("", "pods", "8", "services", "0")
	q := w.quota()
	if _, managed := q.Labels[managedLabel]; managed || q.Annotations["quota.fedquota.io/released"] != "1" {
		t.Errorf("labels %v, annotations %v: want it released", q.Labels, q.Annotations)
	}
	note := "fedquota has released this ResourceQuota: FederatedQuota NS/compute was deleted, or does not select this cluster any more. " +
		"Its limit is what was used then, so nothing more can be created. A FederatedQuota of any name that limits the same resources " +
		"here takes its place. To lift it: kubectl delete resourcequota -n NS compute"
	note = strings.ReplaceAll(note, "NS", q.Namespace)
	if got := q.Annotations["quota.fedquota.io/note"]; got != note {
		t.Errorf("the note is %q, want %q", got, note)
	}
	w.wantsEvent("Warning Released " + note)
}

// TestRemovalAboveTheLimit releases a ResourceQuota that uses more than its limit: pods that end can be replaced.
func TestRemovalAboveTheLimit(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "12"})
	w.leave("Retain")
	w.reconcile()
	w.wantsQuota("", "pods", "12")
}

// TestRemovalOvercharged releases a ResourceQuota whose usage native quota has just let rise above its limit: nobody
// has charged that, and it would be a limit that nobody has granted.
func TestRemovalOvercharged(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.count("pods", "12")
	w.leave("Retain")
	w.reconcile()
	w.wantsQuota("", "pods", "10")
}

// TestRemovalEbbs releases a ResourceQuota of which more is used than its limit, as was reported: what native quota has
// let in is given time to go before it would become the limit.
func TestRemovalEbbs(t *testing.T) {
	for name, tc := range map[string]struct {
		later time.Duration
		used  string
		want  string
	}{
		"a pod goes in time": {later: time.Second, used: "9", want: "9"},
		"no pod goes":        {later: 10 * time.Second, used: "12", want: "12"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "12"})
			w.leave("Retain")
			w.clock.SetTime(w.status().DeletionTimestamp.Time)
			w.unwritten(func() {
				if result := w.reconcile(); result.RequeueAfter != 10*time.Second {
					t.Errorf("looks again after %s, want 10 s", result.RequeueAfter)
				}
			})
			w.clock.Step(tc.later)
			w.count("pods", tc.used)
			w.reconcile()
			w.wantsQuota("", "pods", tc.want)
		})
	}
}

func TestRemovalDelete(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("Delete")
	w.reconcile()
	if !w.gone() {
		t.Error("the share is still there")
	}
	if err := w.hub.Get(t.Context(), w.key, &corev1.ResourceQuota{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want no ResourceQuota", err)
	}
}

// TestReportsRefusedRemoval has an API server that refuses what the removal policy asks for: the answer is reported,
// once, and the share goes when it can.
func TestReportsRefusedRemoval(t *testing.T) {
	for _, policy := range []string{"Retain", "Delete"} {
		t.Run(policy, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
			w.leave(policy)
			refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "resourcequotas"}, "compute", errors.New("by a policy"))
			w.agent.Client = interceptor.NewClient(as(t, agent), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return refusal
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return refusal },
			})
			if _, err := w.try(); err == nil {
				t.Error("want an error")
			}
			w.wantsReport(1, l{"pods", "10"}, l{"pods", "8"})
			w.wantsReason("WriteFailed")
			share := w.status()
			message := apimeta.FindStatusCondition(share.Status.Conditions, "Enforced").Message
			if want := "Carrying out removal policy " + policy + " on the ResourceQuota failed: " + refusal.Error(); message != want {
				t.Errorf("got %q, want %q", message, want)
			}
			w.wantsEvent("Warning WriteFailed " + message)
			w.unwritten(func() {
				if _, err := w.try(); err == nil {
					t.Error("want an error")
				}
			})

			w.agent = w.newAgent()
			w.reconcile()
			if !w.gone() {
				t.Error("the share is still there")
			}
		})
	}
}

// TestRemovalBehindBrokenGlass waits until the glass is mended.
func TestRemovalBehindBrokenGlass(t *testing.T) {
	for _, policy := range []string{"Retain", "Delete"} {
		t.Run(policy, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
			w.breakGlass("we need this")
			w.leave(policy)
			w.unwritten(func() { w.reconcile() })
			if w.gone() {
				t.Fatal("the share went")
			}
			w.breakGlass("")
			w.reconcile()
			if !w.gone() {
				t.Error("the share is still there")
			}
		})
	}
}
