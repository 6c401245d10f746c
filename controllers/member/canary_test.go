package member_test

import (
	"context"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/member/canary"
	"github.com/fedquota/fedquota/internal/pace"
)

// aviary holds a canary, its clock, and the means of a quota controller.
type aviary struct {
	*canary.Canary
	t     *testing.T
	clock *clocktesting.FakeClock
	key   client.ObjectKey
}

// newAviary returns a canary in a namespace of its own.
func newAviary(t *testing.T) *aviary {
	t.Helper()
	return newAviaryIn(t, newNamespace(t))
}

func newAviaryIn(t *testing.T, namespace string) *aviary {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	// The agent's account has a canary in its own namespace alone, and each test one of its own.
	return &aviary{
		Canary: canary.NewCanary(as(t, admin), clk, namespace), t: t, clock: clk,
		key: client.ObjectKey{Namespace: namespace, Name: "fedquota-canary"},
	}
}

// round reconciles and returns when the canary wants to be asked again.
func (a *aviary) round() time.Duration {
	a.t.Helper()
	result, err := a.Reconcile(a.t.Context(), ctrl.Request{NamespacedName: a.key})
	must(a.t, err)
	return result.RequeueAfter
}

func (a *aviary) get() *corev1.ResourceQuota {
	a.t.Helper()
	q := &corev1.ResourceQuota{}
	must(a.t, as(a.t, admin).Get(a.t.Context(), a.key, q))
	return q
}

// follow does what the quota controller does.
func (a *aviary) follow() {
	a.t.Helper()
	q := a.get()
	q.Status.Hard, q.Status.Used = q.Spec.Hard, list("resourcequotas", "1")
	must(a.t, as(a.t, quotaController).Status().Update(a.t.Context(), q))
}

// settle brings a canary to its first verdict, on a quota controller that works.
func (a *aviary) settle() *aviary {
	a.t.Helper()
	a.round()
	a.follow()
	a.round()
	a.wants(canary.Verdict{Known: true})
	return a
}

func (a *aviary) wants(want canary.Verdict) {
	a.t.Helper()
	if got := a.Verdict(); got != want {
		a.t.Fatalf("verdict %+v, want %+v", got, want)
	}
}

// told says whether the canary has told of a change.
func (a *aviary) told() bool {
	select {
	case <-a.Changes():
		return true
	default:
		return false
	}
}

func TestCanaryFollowed(t *testing.T) {
	a := newAviary(t)
	if wait := a.round(); wait != pace.CanaryInterval {
		t.Errorf("looks again after %s, want %s", wait, pace.CanaryInterval)
	}
	a.wants(canary.Verdict{})
	a.round()
	a.wants(canary.Verdict{})
	a.follow()
	if wait := a.round(); wait != 15*time.Second {
		t.Errorf("changes the limit after %s, want 15s", wait)
	}
	a.wants(canary.Verdict{Known: true})
	if !a.told() || a.told() {
		t.Error("want one event for the verdict")
	}
	before := a.get()
	a.clock.Step(15 * time.Second)
	a.round()
	if after := a.get(); after.Generation == before.Generation && after.Spec.Hard["quota.fedquota.io/canary"] == before.Spec.Hard["quota.fedquota.io/canary"] {
		t.Error("the limit was not changed")
	}
	a.wants(canary.Verdict{Known: true})
	if a.told() {
		t.Error("told of a change although the verdict is the same")
	}
}

func TestCanaryStuckAndRecovers(t *testing.T) {
	a := newAviary(t).settle()
	a.told()
	a.clock.Step(pace.CanaryInterval)
	a.round() // changes the limit
	// The quota controller may stand still for 30 s whenever a kind comes or goes.
	a.clock.Step(30 * time.Second)
	a.round() // changes it again
	a.wants(canary.Verdict{Known: true})
	a.clock.Step(pace.CanaryTimeout - 30*time.Second - time.Millisecond)
	if wait := a.round(); wait != time.Millisecond {
		t.Errorf("judges after %s, want 1ms", wait)
	}
	a.wants(canary.Verdict{Known: true})
	a.clock.Step(time.Millisecond)
	a.round()
	a.wants(canary.Verdict{Known: true, Stuck: true})
	if !a.told() {
		t.Error("not told of the change")
	}

	// It goes on trying, once per interval however often it is asked.
	before := a.get()
	for range 5 {
		if wait := a.round(); wait != 5*time.Second {
			t.Errorf("tries again after %s, want 5s", wait)
		}
	}
	if after := a.get(); after.ResourceVersion != before.ResourceVersion {
		t.Error("it wrote before the interval was over")
	}
	a.clock.Step(5 * time.Second)
	for range 5 {
		a.round()
	}
	limit := a.get().Spec.Hard["quota.fedquota.io/canary"]
	was := before.Spec.Hard["quota.fedquota.io/canary"]
	if limit.Value() != was.Value()+1 {
		t.Errorf("limit %s after one more interval, was %s: want one write", limit.String(), was.String())
	}
	a.wants(canary.Verdict{Known: true, Stuck: true})

	a.follow()
	a.round()
	a.wants(canary.Verdict{Known: true})
	if !a.told() {
		t.Error("not told that it recovered")
	}
}

func TestCanaryRecreated(t *testing.T) {
	a := newAviary(t).settle()
	must(t, as(t, admin).Delete(t.Context(), a.get()))
	a.round()
	a.get()
	a.clock.Step(pace.CanaryTimeout)
	a.round()
	a.wants(canary.Verdict{Known: true, Stuck: true})
	a.follow()
	a.round()
	a.wants(canary.Verdict{Known: true})
}

// TestCanaryOfAnotherLife shows that an agreement of spec and status from before a start proves nothing.
func TestCanaryOfAnotherLife(t *testing.T) {
	first := newAviary(t).settle()
	a := newAviaryIn(t, first.key.Namespace)
	a.round()
	a.wants(canary.Verdict{})
	a.round()
	a.wants(canary.Verdict{})
	a.clock.Step(pace.CanaryTimeout)
	a.round()
	a.wants(canary.Verdict{Known: true, Stuck: true})
}

// TestCanaryStaleRead shows that a version from before the last change is not taken for the quota controller's answer.
func TestCanaryStaleRead(t *testing.T) {
	a := newAviary(t).settle()
	stale := a.get()
	a.clock.Step(15 * time.Second)
	a.round() // changes the limit
	a.Client = frozen(as(t, admin), stale)
	a.clock.Step(pace.CanaryTimeout)
	a.round()
	a.wants(canary.Verdict{Known: true, Stuck: true})
}

// TestCanaryEditedByHand shows that a limit that somebody sets back does not make the quota controller seem stuck for
// ever.
func TestCanaryEditedByHand(t *testing.T) {
	a := newAviary(t).settle()
	q := a.get()
	q.Spec.Hard = list("quota.fedquota.io/canary", "0")
	must(t, as(t, admin).Update(t.Context(), q))
	a.follow()
	a.clock.Step(15 * time.Second)
	a.round()
	a.follow()
	a.round()
	a.wants(canary.Verdict{Known: true})
}

// TestCanaryUnguarded takes a policy's binding away, as an administrator of the cluster can.
func TestCanaryUnguarded(t *testing.T) {
	for _, policy := range []string{"fedquota-guard", "fedquota-fence"} {
		t.Run(policy, func(t *testing.T) {
			a := newAviary(t).settle()
			a.told()
			restore := unbind(t, policy)
			eventually(t, func(context.Context) string {
				a.round()
				if got := a.Verdict(); got.Unguarded != policy {
					return "verdict " + got.Unguarded
				}
				return ""
			})
			if !a.told() {
				t.Error("not told of the change")
			}
			restore()
			eventually(t, func(context.Context) string {
				a.round()
				return a.Verdict().Unguarded
			})
			a.wants(canary.Verdict{Known: true})
		})
	}
}

// TestCanaryCannotTell shows that an answer that says nothing of the policies is no verdict.
func TestCanaryCannotTell(t *testing.T) {
	a := newAviaryIn(t, "no-such-namespace")
	if _, err := a.Reconcile(t.Context(), ctrl.Request{NamespacedName: a.key}); err == nil {
		t.Error("want an error")
	}
	a.wants(canary.Verdict{})
}

// unbind deletes the binding of a policy, and returns what creates it again.
func unbind(t *testing.T, policy string) (restore func()) {
	t.Helper()
	c, binding := as(t, admin), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	must(t, c.Get(t.Context(), client.ObjectKey{Name: policy}, binding))
	must(t, c.Delete(t.Context(), binding))
	binding.ResourceVersion, binding.UID = "", ""
	bound := false
	restore = func() {
		if !bound {
			must(t, c.Create(context.WithoutCancel(t.Context()), binding.DeepCopy()))
			bound = true
		}
	}
	t.Cleanup(restore)
	return restore
}
