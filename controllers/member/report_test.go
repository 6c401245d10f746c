package member_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestReportsOnlyWhatIsInForce lowers a limit that the agent cannot bring into force, and that nobody else does.
func TestReportsOnlyWhatIsInForce(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
	w.share(2, "pods", "6")
	w.agent.Client = interceptor.NewClient(as(t, agent), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, inner client.Client, subresource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if _, ok := object.(*corev1.ResourceQuota); ok {
				return errors.New("no answer")
			}
			return inner.SubResource(subresource).Patch(ctx, object, patch, opts...)
		},
	})
	if _, err := w.try(); err == nil {
		t.Error("want an error")
	}
	w.wantsQuota("2", "pods", "6")
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "4"})
	w.wantsReason("WriteFailed")
	w.agent = w.newAgent()
	w.reconcile()
	w.wantsReport(2, l{"pods", "6"}, l{"pods", "4"})
}

// TestReportsRefusedWrites has an API server that refuses what the agent writes: what is in force is reported, and the
// answer.
func TestReportsRefusedWrites(t *testing.T) {
	quotas := schema.GroupResource{Resource: "resourcequotas"}
	for name, refusal := range map[string]error{
		"forbidden":         apierrors.NewForbidden(quotas, "compute", errors.New("by a policy")),
		"invalid":           apierrors.NewInvalid(schema.GroupKind{Kind: "ResourceQuota"}, "compute", nil),
		"a webhook is down": apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
			w.share(2, "pods", "6")
			w.agent.Client = interceptor.NewClient(as(t, agent), interceptor.Funcs{
				Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if _, ok := object.(*corev1.ResourceQuota); ok {
						return refusal
					}
					return inner.Patch(ctx, object, patch, opts...)
				},
			})
			if _, err := w.try(); err == nil {
				t.Error("want an error")
			}
			w.wantsReport(1, l{"pods", "10"}, l{"pods", "4"})
			w.wantsReason("WriteFailed")
			share := w.status()
			message := apimeta.FindStatusCondition(share.Status.Conditions, "Enforced").Message
			if want := "Writing the ResourceQuota failed: " + refusal.Error(); message != want || share.Status.ObservedGeneration != share.Generation {
				t.Errorf("%q of generation %d, want %q of %d", message, share.Status.ObservedGeneration, want, share.Generation)
			}
			w.agent = w.newAgent()
			w.reconcile()
			w.count("pods", "4")
			w.reconcile()
			w.wantsReport(2, l{"pods", "6"}, l{"pods", "4"})
			w.wantsReason("Enforced")
		})
	}
}

// TestReportsWhatIsReadLive has a limit raised behind broken glass, and an agent whose cache does not show that yet: it
// must not take back what another agent has reported.
func TestReportsWhatIsReadLive(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	stale := w.quota()
	w.breakGlass("the hub is down")
	q := w.quota()
	q.Spec.Hard = list("pods", "50")
	must(t, as(t, tenant).Update(t.Context(), q))
	w.count("pods", "40")
	w.pass()
	w.reconcile()
	w.wantsReport(1, l{"pods", "50"}, l{"pods", "40"})

	w.agent = w.newAgent()
	w.agent.Client = frozen(as(t, agent), stale)
	w.pass()
	w.reconcile()
	w.wantsReport(1, l{"pods", "50"}, l{"pods", "40"})
}

// TestReportsNothingWhileUnguarded has usage change where nothing keeps anybody from changing the limit as well.
func TestReportsNothingWhileUnguarded(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	restore := unbind(t, "fedquota-fence")
	eventually(t, func(context.Context) string {
		w.canary.round()
		if w.canary.Verdict().Unguarded == "" {
			return "the fence is in force"
		}
		return ""
	})
	w.count("pods", "9")
	w.pass()
	w.reconcile()
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "8"})
	restore()
	eventually(t, func(context.Context) string {
		w.canary.round()
		return w.canary.Verdict().Unguarded
	})
	w.pass()
	w.reconcile()
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "9"})
}

// TestLimitLoweredByHand leaves a limit that is below the share at its own revision: that is reported, and raised by
// the hub's next revision alone.
func TestLimitLoweredByHand(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
	w.breakGlass("less is enough")
	q := w.quota()
	q.Spec.Hard = list("pods", "5")
	must(t, as(t, tenant).Update(t.Context(), q))
	w.breakGlass("")
	w.count("pods", "4")
	w.unwritten(func() { w.reconcile() })
	w.wantsReport(1, l{"pods", "5"}, l{"pods", "4"})
	w.share(2, "pods", "10")
	w.reconcile()
	w.wantsReport(2, l{"pods", "10"}, l{"pods", "4"})
}

// TestReportsWhatIsExpected has single pods refused again and again: the next one is reported until it is overdue.
func TestReportsWhatIsExpected(t *testing.T) {
	w := settled(t, 1, l{"pods", "4"}, l{"pods", "4"})
	for i := range 3 {
		owner, asked := demand.Owner{Kind: "Pod", Name: fmt.Sprint(i)}, amount.List{"pods": 1}
		w.clock.Step(10 * time.Second)
		w.agent.Demand.Book.Hold(w.key, owner, nil, asked, w.clock.Now())
		w.agent.Demand.Book.End(w.key, owner, asked, false, w.clock.Now())
	}
	w.clock.Step(10 * time.Second)
	w.reconcile()
	expected, refused := w.status().Status.Expected["pods"], w.status().Status.Demand
	if expected.Value() != 1 || len(refused) > 0 {
		t.Errorf("expected %s pods, and demand of %v", expected.String(), refused)
	}
	w.clock.Step(6 * time.Second)
	w.reconcile()
	if left := w.status().Status.Expected; len(left) > 0 {
		t.Errorf("overdue, and still expected: %v", left)
	}
}

// TestReportsWhatIsReplaced has a Deployment replace a pod: that is reported until there is one in its place.
func TestReportsWhatIsReplaced(t *testing.T) {
	w := settled(t, 1, l{"pods", "4"}, l{"pods", "4"})
	book := w.agent.Demand.Book
	set := func(revision, desired int64) {
		owner := demand.Owner{Kind: "ReplicaSet", Name: "web", UID: types.UID(fmt.Sprint(revision))}
		book.SetWorkload(demand.Workload{
			Owner: owner, Namespace: w.key.Namespace, Desired: desired, Template: &corev1.PodSpec{},
			Rollout: demand.Rollout{Of: "deployment", Revision: revision, Pods: new(int64(1))},
		}, w.clock.Now())
	}
	pod := func(revision int64) {
		uid := types.UID(fmt.Sprint(revision))
		book.SetPod(demand.Pod{UID: "pod" + uid, Owner: uid, Namespace: w.key.Namespace}, w.clock.Now())
	}
	reported := func(want int64) {
		t.Helper()
		w.clock.Step(time.Second)
		w.reconcile()
		if got := w.status().Status.Replacing["pods"]; got.Value() != want {
			t.Errorf("reported that %s pods are being replaced, want %d", got.String(), want)
		}
	}
	set(1, 1)
	pod(1)
	reported(0)
	set(1, 0)
	set(2, 1)
	reported(1)
	w.agent.Live = interceptor.NewClient(as(t, agent), interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			err := inner.Get(ctx, key, object, opts...)
			pod(2) // comes after usage was read, in which it is not
			return err
		},
	})
	reported(1)
	w.agent.Live = as(t, agent)
	reported(0)
}
