package member_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// occupied is a world in which a team has a ResourceQuota of the budget's name, and the share of a budget has come that
// takes those over.
func occupied(t *testing.T, hard, used, share []string) *world {
	t.Helper()
	w := newWorld(t)
	w.occupy(hard, used)
	w.share(5, share...)
	w.write(func(spec *quotav1alpha1.QuotaShareSpec) {
		spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	})
	return w
}

// occupy has a team make a ResourceQuota of the budget's name.
func (w *world) occupy(hard, used []string) {
	w.t.Helper()
	q := &corev1.ResourceQuota{}
	q.Namespace, q.Name, q.Spec.Hard = w.key.Namespace, w.key.Name, list(hard...)
	must(w.t, as(w.t, tenant).Create(w.t.Context(), q))
	w.count(used...)
}

// write changes the share as the hub does.
func (w *world) write(change func(spec *quotav1alpha1.QuotaShareSpec)) {
	w.t.Helper()
	share := w.status()
	change(&share.Spec)
	must(w.t, w.hub.Update(w.t.Context(), share))
}

// allow lets the agent take over the ResourceQuota that is there, up to limits, and says what its limit becomes.
func (w *world) allow(revision int64, uid types.UID, upTo, hard []string) {
	w.t.Helper()
	w.write(func(spec *quotav1alpha1.QuotaShareSpec) {
		spec.Revision, spec.Hard = revision, list(hard...)
		spec.TakeOver = &quotav1alpha1.TakeOver{UID: string(uid), Hard: list(upTo...)}
	})
}

// takesOver looks until the ResourceQuota is managed.
func (w *world) takesOver() {
	w.t.Helper()
	eventually(w.t, func(context.Context) string {
		_, err := w.try()
		return unless(w.quota().Labels[quotav1alpha1.ManagedLabel] != "", err)
	})
}

// unless says what keeps from being done, if it is not.
func unless(done bool, err error) string {
	if done {
		return ""
	}
	return fmt.Sprintf("not done: %v", err)
}

// message is what the share says of why it is not in force.
func (w *world) message() string {
	w.t.Helper()
	return apimeta.FindStatusCondition(w.status().Status.Conditions, "Enforced").Message
}

// TestTakeOver has the agent tell what limit there is, wait for the hub to charge it, and take it over in one write.
func TestTakeOver(t *testing.T) {
	w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
	before := w.quota()
	w.reconcile()
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
	w.wantsReport(0, nil, nil)
	want := &quotav1alpha1.ExistingQuota{UID: string(before.UID), Hard: list("pods", "6"), Used: list("pods", "2")}
	if diff := cmp.Diff(want, w.status().Status.ExistingQuota); diff != "" {
		t.Fatalf("what is there (-want +got):\n%s", diff)
	}
	w.allow(6, before.UID, l{"pods", "6"}, l{"pods", "5"})
	w.takesOver()
	w.wantsQuota("6", "pods", "5")
	if after := w.quota(); after.UID != before.UID {
		t.Error("it is another ResourceQuota")
	}
	w.reconcile()
	w.count("pods", "2")
	w.reconcile()
	w.reconcile()
	w.wantsReport(6, l{"pods", "5"}, l{"pods", "2"})
	w.wantsReason("Enforced")
	share := w.status()
	left := share.Labels[quotav1alpha1.TakesOverLabel] + w.quota().Labels[quotav1alpha1.TakesOverLabel] +
		w.quota().Annotations[quotav1alpha1.ToBeTakenOverAnnotation]
	if left != "" || share.Status.ExistingQuota != nil {
		t.Errorf("the share goes on taking over: labels and annotation %v, %+v", left, share.Status.ExistingQuota)
	}
}

// TestNoTakeOver has what is there stay as it is, and the share say why.
func TestNoTakeOver(t *testing.T) {
	for name, tc := range map[string]struct {
		share  []string
		change func(w *world, q *corev1.ResourceQuota)
		want   string
	}{
		"not asked for": {change: func(w *world, _ *corev1.ResourceQuota) {
			w.write(func(spec *quotav1alpha1.QuotaShareSpec) { spec.ExistingQuotas.WhenToTakeOver = "" })
		}, want: "set spec.existingQuotas.whenToTakeOver of the FederatedQuota"},
		"not charged": {change: func(*world, *corev1.ResourceQuota) {}, want: "the hub has yet to charge its limit"},
		"another one is charged": {change: func(w *world, _ *corev1.ResourceQuota) {
			w.allow(6, "another", l{"pods", "6"}, l{"pods", "6"})
		}, want: "the hub has yet to charge its limit"},
		"less is charged": {change: func(w *world, q *corev1.ResourceQuota) {
			w.allow(6, q.UID, l{"pods", "5"}, l{"pods", "5"})
		}, want: "the hub has yet to charge its limit"},
		"it limits more": {share: l{"services", "0"}, change: func(w *world, q *corev1.ResourceQuota) {
			w.allow(6, q.UID, l{"pods", "6"}, l{"services", "6"})
		}, want: "also limits pods, which nothing would limit once it were taken over"},
	} {
		t.Run(name, func(t *testing.T) {
			share := tc.share
			if share == nil {
				share = l{"pods", "0"}
			}
			w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, share)
			tc.change(w, w.quota())
			w.unwritten(func() {
				for range 3 {
					w.reconcile()
				}
			})
			w.wantsReason("NameTaken")
			if got := w.message(); !strings.Contains(got, tc.want) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// TestTakeOverOfOtherScopes has a ResourceQuota stay that counts something else.
func TestTakeOverOfOtherScopes(t *testing.T) {
	w := newWorld(t)
	w.occupy(l{"pods", "6"}, l{"pods", "2"})
	w.scoped(5, []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}, "pods", "0")
	w.write(func(spec *quotav1alpha1.QuotaShareSpec) {
		spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	})
	w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "6"})
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
	if got, want := w.message(), "has other scopes than the FederatedQuota"; !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// TestTakeOverAsItWasRead has a team raise its limit right before the agent would take it over.
func TestTakeOverAsItWasRead(t *testing.T) {
	w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
	w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "6"})
	tried := false
	w.agent.Client = preceded(as(t, agent), func() bool {
		q := w.quota()
		if tried = nativequota.ToBeTakenOver(q); !tried {
			return true // it is annotated first
		}
		q.Spec.Hard = list("pods", "60")
		must(t, as(t, tenant).Update(t.Context(), q))
		return false
	})
	eventually(t, func(context.Context) string {
		_, err := w.try()
		return unless(tried, err)
	})
	w.count("pods", "2")
	for range 3 {
		w.reconcile()
	}
	w.wantsQuota("", "pods", "60")
	if nativequota.ToBeTakenOver(w.quota()) {
		t.Error("the annotation stays that says that it is taken over")
	}
	if got := w.status().Status.ExistingQuota; got == nil || !quotav1.Equals(got.Hard, list("pods", "60")) {
		t.Errorf("the hub is told of %+v", got)
	}
}

// TestTakeOverIsTold has a share be deleted by hand right before the agent takes over the ResourceQuota: that says so by
// then, for a hub that looks. The agent that lets the share go takes that back, and what comes late is refused.
func TestTakeOverIsTold(t *testing.T) {
	w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
	w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "5"})
	tried := false
	w.agent.Client = preceded(as(t, agent), func() bool {
		q := w.quota()
		if tried = nativequota.ToBeTakenOver(q); !tried {
			return true
		}
		if nativequota.IsManaged(q) {
			t.Error("it is managed before a hub could know")
		}
		must(t, as(t, admin).Delete(t.Context(), w.status()))
		other := w.newAgent()
		_, err := other.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
		must(t, err)
		return false
	})
	var last error
	eventually(t, func(context.Context) string {
		_, last = w.try()
		return unless(tried, last)
	})
	w.wantsQuota("", "pods", "6")
	if nativequota.ToBeTakenOver(w.quota()) || !w.gone() {
		t.Errorf("annotations %v, share gone: %t, the late write: %v", w.quota().Annotations, w.gone(), last)
	}
}

// TestTakeOversGoInTurn has two budgets of a namespace take over at once.
func TestTakeOversGoInTurn(t *testing.T) {
	w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
	w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "6"})
	first := w.key
	w.key.Name = "another"
	w.occupy(l{"pods", "4"}, l{"pods", "2"})
	w.share(7, "pods", "4")
	w.allow(7, w.quota().UID, l{"pods", "4"}, l{"pods", "4"})
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"quota.fedquota.io/takes-over":"true"}}}`))
	second := w.key
	for _, w.key = range []client.ObjectKey{first, second} {
		must(t, as(t, agent).Patch(t.Context(), w.status(), label))
	}
	for _, w.key = range []client.ObjectKey{first, second, first} {
		_, _ = w.try() // one that cannot go first makes way
	}
	for _, w.key = range []client.ObjectKey{second, first} {
		w.takesOver()
	}
}

const announced = `{"metadata":{"annotations":{"quota.fedquota.io/to-be-taken-over":"true"}}}`

// TestTakeOverIsBounded tries by the agent's account to take what the hub has not allowed.
func TestTakeOverIsBounded(t *testing.T) {
	const take = `{"metadata":{"labels":{"quota.fedquota.io/managed":"true","quota.fedquota.io/takes-over":"true"},"annotations":{"quota.fedquota.io/revision":"6"}}`
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"quota.fedquota.io/takes-over":"true"}}}`))
	announce := client.RawPatch(types.MergePatchType, []byte(announced))
	for name, tc := range map[string]struct {
		allow   func(w *world, uid types.UID)
		patch   string
		bare    bool
		refused string
	}{
		"allowed":          {allow: func(w *world, uid types.UID) { w.allow(6, uid, l{"pods", "6"}, l{"pods", "9"}) }, patch: `,"spec":{"hard":{"pods":"9"}}}`},
		"not announced":    {allow: func(w *world, uid types.UID) { w.allow(6, uid, l{"pods", "6"}, l{"pods", "9"}) }, bare: true, patch: `}`, refused: "about to be taken over before"},
		"not allowed":      {allow: func(*world, types.UID) {}, patch: `}`, refused: "the hub has not allowed"},
		"another one":      {allow: func(w *world, _ types.UID) { w.allow(6, "another", l{"pods", "6"}, l{"pods", "9"}) }, patch: `}`, refused: "the hub has not allowed"},
		"a larger one":     {allow: func(w *world, uid types.UID) { w.allow(6, uid, l{"pods", "5"}, l{"pods", "9"}) }, patch: `}`, refused: "the hub has not allowed"},
		"drops what it is": {allow: func(w *world, uid types.UID) { w.allow(6, uid, l{"pods", "6"}, l{"pods", "9"}) }, patch: `,"spec":{"hard":{"pods":null,"services":"1"}}}`, refused: "stays limited"},
		"by another share": {allow: func(w *world, uid types.UID) {
			w.key.Name = "other"
			w.share(6, "pods", "1")
			w.allow(7, uid, l{"pods", "6"}, l{"pods", "9"})
		}, patch: `}`, refused: "the hub has not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
			if !tc.bare {
				must(t, as(t, agent).Patch(t.Context(), w.quota(), announce))
			}
			q, own := w.quota(), client.NewDryRunClient(as(t, agent))
			tc.allow(w, q.UID)
			must(t, as(t, agent).Patch(t.Context(), w.status(), label))
			var got string
			eventually(t, func(context.Context) string { // the API server takes a moment to see the share
				got = refusal(t, own.Patch(t.Context(), q.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(take+tc.patch))))
				return unless((tc.refused == "") == (got == "") && strings.Contains(got, tc.refused), errors.New(got))
			})
		})
	}
	for name, tc := range map[string]struct{ patch, refused string }{
		"an announcement":             {patch: announced},
		"no announcement":             {patch: `{"metadata":{"annotations":{"quota.fedquota.io/to-be-taken-over":null}}}`},
		"an announcement and a limit": {patch: `{"metadata":{"annotations":{"quota.fedquota.io/to-be-taken-over":"true"}},"spec":{"hard":{"pods":"60"}}}`, refused: "the agent writes ResourceQuotas that it manages"},
		"an announcement and a label": {patch: `{"metadata":{"labels":{"a":"b"},"annotations":{"quota.fedquota.io/to-be-taken-over":"true"}}}`, refused: "the agent writes ResourceQuotas that it manages"},
		"another annotation":          {patch: `{"metadata":{"annotations":{"a":"b"}}}`, refused: "the agent writes ResourceQuotas that it manages"},
	} {
		t.Run(name, func(t *testing.T) {
			w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
			got := refusal(t, client.NewDryRunClient(as(t, agent)).Patch(t.Context(), w.quota(), client.RawPatch(types.MergePatchType, []byte(tc.patch))))
			if (tc.refused == "") != (got == "") || !strings.Contains(got, tc.refused) {
				t.Errorf("refused for %q; want %q", got, tc.refused)
			}
		})
	}
	t.Run("without labels", func(t *testing.T) {
		w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
		w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "9"})
		bare := strings.Replace(take, `,"quota.fedquota.io/takes-over":"true"`, "", 1) + "}"
		got := refusal(t, client.NewDryRunClient(as(t, agent)).Patch(t.Context(), w.quota(), client.RawPatch(types.MergePatchType, []byte(bare))))
		if want := "the agent writes ResourceQuotas that it manages"; !strings.Contains(got, want) {
			t.Errorf("refused for %q; want %q", got, want)
		}
	})
	t.Run("without a share that is labelled", func(t *testing.T) {
		w := occupied(t, l{"pods", "6"}, l{"pods", "2"}, l{"pods", "0"})
		w.allow(6, w.quota().UID, l{"pods", "6"}, l{"pods", "9"})
		if got := refusal(t, client.NewDryRunClient(as(t, agent)).Patch(t.Context(), w.quota(), client.RawPatch(types.MergePatchType, []byte(take+"}")))); got == "" {
			t.Error("it is not refused")
		}
	})
}
