package member_test

import (
	"context"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestReportsChangedWrites has a policy of the cluster change each limit that the agent writes: what is in force is
// reported, and the share says what the policy does for as long as it does it.
func TestReportsChangedWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		hard    string
		changed string
		stored  l
	}{
		"raised":  {hard: "{'pods': '50'}", changed: "pods is 50 and was to be 12", stored: l{"pods", "50"}},
		"lowered": {hard: "{'pods': '9'}", changed: "pods is 9 and was to be 12", stored: l{"pods", "9"}},
		"another name": {
			hard: "{'secrets': '7'}", changed: "secrets is 7 and was to be without limit", stored: l{"pods", "12", "secrets", "7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
			undo := mutate(t, w.key.Namespace, "Object{spec: Object.spec{hard: "+tc.hard+"}}")
			w.meddled(true)
			w.share(2, "pods", "12")
			for range 3 {
				w.reconcile()
				w.count("pods", "8", "secrets", "1")
				c := apimeta.FindStatusCondition(w.status().Status.Conditions, "Enforced")
				want := "Writing the ResourceQuota failed: " + tc.changed +
					". A mutating policy or webhook of the cluster changes it: have that leave out ResourceQuotas with label quota.fedquota.io/managed"
				if c.Reason != "WriteFailed" || c.Message != want {
					t.Fatalf("%s: %s\nwant: %s", c.Reason, c.Message, want)
				}
			}
			w.wantsQuota("2", tc.stored...)
			w.wantsReport(2, tc.stored, l{"pods", "8", "secrets", "1"}[:len(tc.stored)])
			undo()
			w.meddled(false)
			w.share(3, "pods", "12")
			w.reconcile()
			w.count("pods", "8")
			w.reconcile()
			w.wantsReport(3, l{"pods", "12"}, l{"pods", "8"})
			w.wantsReason("Enforced")
		})
	}
}

// TestReportsAChangedCreate has a policy change the first limit.
func TestReportsAChangedCreate(t *testing.T) {
	w := newWorld(t)
	mutate(t, w.key.Namespace, "Object{spec: Object.spec{hard: {'pods': '50'}}}")
	w.meddled(true)
	w.share(1, "pods", "12")
	w.reconcile()
	w.wantsQuota("1", "pods", "50")
	w.wantsReason("WriteFailed")
}

// meddled waits until a policy that changes limits is in force, or is so no more.
func (w *world) meddled(inForce bool) {
	w.t.Helper()
	eventually(w.t, func(ctx context.Context) string {
		probe := quota("probe").hard("services", "1").in(w.key.Namespace).Obj()
		must(w.t, w.hub.Create(ctx, probe, client.DryRunAll))
		if (len(probe.Spec.Hard) > 1) != inForce {
			return "a write is not stored as it should be"
		}
		return ""
	})
}
