package member_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/canary"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestStatusConflict shows that a report decided on an old version of the share is not written.
func TestStatusConflict(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
	stale := w.status()
	w.share(2, "pods", "8")
	w.reconcile()
	w.agent = w.newAgent()
	w.agent.Client = frozen(as(t, agent), stale)
	if !soon(w.reconcile()) {
		t.Error("no other look follows the conflict")
	}
	w.wantsReport(2, l{"pods", "8"}, l{"pods", "4"})
}

// TestStaleAgent has a second agent act on caches of the past: it changes nothing, and what it reports is refused.
func TestStaleAgent(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
	share, q := w.status(), w.quota()
	unmanaged := q.DeepCopy()
	unmanaged.Annotations = map[string]string{"quota.fedquota.io/revision": "0"}
	w.share(2, "pods", "5")
	w.reconcile()
	for name, stale := range map[string][]client.Object{
		"an old share":                          {share},
		"an old ResourceQuota":                  {q},
		"an old share and ResourceQuota":        {share, q},
		"a share older than its ResourceQuota":  {share, unmanaged},
		"a ResourceQuota that is not there yet": {share, &corev1.ResourceQuota{ObjectMeta: q.ObjectMeta}},
	} {
		t.Run(name, func(t *testing.T) {
			second := w.newAgent()
			second.Client = frozen(as(t, agent), stale...)
			_, err := second.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
			t.Logf("the second agent: %v", err)
			w.wantsQuota("2", "pods", "5")
			w.reconcile()
			w.wantsReport(2, l{"pods", "5"}, l{"pods", "4"})
		})
	}
}

// TestRestarts ends the agent before each of its writes in turn; the next one ends in the same state.
func TestRestarts(t *testing.T) {
	for crash := range 4 {
		w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
		w.share(2, "pods", "3")
		writes := 0
		w.agent.Client = dying(as(t, agent), func() bool { writes++; return writes > crash })
		_, _ = w.try()
		w.agent = w.newAgent()
		w.reconcile()
		w.wantsReport(2, l{"pods", "8"}, l{"pods", "8"})
		w.count("pods", "2")
		w.reconcile()
		w.pass()
		w.reconcile()
		w.wantsReport(2, l{"pods", "3"}, l{"pods", "2"})
	}
}

func TestWaitsForTheFirstVerdict(t *testing.T) {
	w := newWorld(t)
	w.agent.Canary = canary.NewCanary(as(t, admin), w.clock, w.canary.key.Namespace)
	w.share(1, "pods", "10")
	w.reconcile()
	if err := w.hub.Get(t.Context(), w.key, &corev1.ResourceQuota{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want no ResourceQuota", err)
	}
	if conditions := w.status().Status.Conditions; len(conditions) > 0 {
		t.Errorf("reported %v", conditions)
	}
}

// TestStuckQuotaController shows that limits are still enforced, and that nothing is reported.
func TestStuckQuotaController(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	for _, step := range []time.Duration{pace.CanaryInterval, pace.CanaryTimeout} {
		w.clock.Step(step)
		w.canary.round()
	}
	w.share(2, "pods", "9")
	w.reconcile()
	w.wantsQuota("2", "pods", "9")
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "8"})
	w.wantsConditions("StuckQuotaController")
	w.canary.follow()
	w.canary.round()
	w.reconcile()
	w.wantsReport(2, l{"pods", "9"}, l{"pods", "8"})
	w.wantsConditions()
}

func TestUnguarded(t *testing.T) {
	for _, policy := range []string{"fedquota-guard", "fedquota-fence"} {
		t.Run(policy, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
			restore := unbind(t, policy)
			eventually(t, func(context.Context) string {
				w.canary.round()
				if w.canary.Verdict().Unguarded == "" {
					return "the policy is in force"
				}
				return ""
			})
			w.share(2, "pods", "20")
			w.unwritten(func() { w.reconcile() })
			w.wantsReport(1, l{"pods", "10"}, l{"pods", "8"})
			w.wantsReason("PolicyNotInForce")
			w.wantsConditions(quotav1alpha1.ConditionUnguarded)
			restore()
			eventually(t, func(context.Context) string {
				w.canary.round()
				return w.canary.Verdict().Unguarded
			})
			w.reconcile()
			w.wantsReport(2, l{"pods", "20"}, l{"pods", "8"})
			w.wantsReason("Enforced")
			w.wantsConditions()
		})
	}
}
