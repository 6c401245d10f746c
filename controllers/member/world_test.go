package member_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/share"
	"github.com/fedquota/fedquota/internal/demand"
)

// world is a namespace of a member with an agent. The test plays the hub and the quota controller.
type world struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	canary *aviary
	agent  *share.Reconciler
	hub    client.Client
	key    client.ObjectKey
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, canary: newAviary(t).settle(), hub: asHub(t)}
	w.clock = w.canary.clock
	w.key = client.ObjectKey{Namespace: newNamespace(t), Name: "compute"}
	w.agent = w.newAgent()
	return w
}

// newAgent returns an agent that has just started.
func (w *world) newAgent() *share.Reconciler {
	return &share.Reconciler{
		Client: as(w.t, agent), Live: as(w.t, agent), Clock: w.clock, Recorder: events.NewFakeRecorder(100), Canary: w.canary.Canary,
		Demand: &memberdemand.Demand{Client: as(w.t, agent), Clock: w.clock, Book: demand.NewBook()},
	}
}

// share writes a share as the hub does.
func (w *world) share(revision int64, pairs ...string) {
	w.t.Helper()
	share := &quotav1alpha1.QuotaShare{}
	err := w.hub.Get(w.t.Context(), w.key, share)
	if apierrors.IsNotFound(err) {
		w.scoped(revision, nil, pairs...)
		return
	}
	must(w.t, err)
	share.Spec.Revision, share.Spec.Hard = revision, list(pairs...)
	must(w.t, w.hub.Update(w.t.Context(), share))
}

// scoped creates a share with scopes.
func (w *world) scoped(revision int64, scopes []corev1.ResourceQuotaScope, pairs ...string) {
	w.t.Helper()
	must(w.t, w.hub.Create(w.t.Context(), &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name, Finalizers: []string{quotav1alpha1.Finalizer}},
		Spec:       quotav1alpha1.QuotaShareSpec{Revision: revision, Hard: list(pairs...), Scopes: scopes},
	}))
}

// leave deletes the share as the hub does, or as somebody else if there is no policy.
func (w *world) leave(policy string) {
	w.t.Helper()
	share := w.status()
	if policy != "" {
		metav1.SetMetaDataAnnotation(&share.ObjectMeta, quotav1alpha1.RemovalAnnotation, policy)
		must(w.t, w.hub.Update(w.t.Context(), share))
	}
	must(w.t, w.hub.Delete(w.t.Context(), share))
}

// gone says whether the share is gone.
func (w *world) gone() bool {
	w.t.Helper()
	err := w.hub.Get(w.t.Context(), w.key, &quotav1alpha1.QuotaShare{})
	must(w.t, client.IgnoreNotFound(err))
	return err != nil
}

func (w *world) try() (ctrl.Result, error) {
	w.t.Helper()
	return w.agent.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
}

func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	result, err := w.try()
	must(w.t, err)
	return result
}

// soon says whether another look follows for a reason.
func soon(result ctrl.Result) bool {
	return result.RequeueAfter > 0 && result.RequeueAfter <= time.Second
}

func (w *world) quota() *corev1.ResourceQuota {
	w.t.Helper()
	q := &corev1.ResourceQuota{}
	must(w.t, w.hub.Get(w.t.Context(), w.key, q))
	return q
}

func (w *world) status() *quotav1alpha1.QuotaShare {
	w.t.Helper()
	share := &quotav1alpha1.QuotaShare{}
	must(w.t, w.hub.Get(w.t.Context(), w.key, share))
	return share
}

// count does what the quota controller does: it takes over the limit and writes what is used.
func (w *world) count(used ...string) {
	w.t.Helper()
	q := w.quota()
	q.Status.Hard, q.Status.Used = q.Spec.Hard, list(used...)
	must(w.t, as(w.t, quotaController).Status().Update(w.t.Context(), q))
}

// settled is a world in which a share is in force, some of it used.
func settled(t *testing.T, revision int64, hard, used []string) *world {
	t.Helper()
	w := newWorld(t)
	w.share(revision, hard...)
	w.reconcile()
	w.count(used...)
	w.reconcile()
	w.wantsReport(revision, hard, used)
	return w
}

// wantsReport checks that the share is reported as in force.
func (w *world) wantsReport(revision int64, hard, used []string) {
	w.t.Helper()
	got := w.status().Status
	want := quotav1alpha1.QuotaShareStatus{Revision: revision, Hard: list(hard...), Used: list(used...)}
	if diff := cmp.Diff(want, quotav1alpha1.QuotaShareStatus{Revision: got.Revision, Hard: got.Hard, Used: got.Used}, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("report (-want +got):\n%s", diff)
	}
}

// wantsReason checks why the share is in force or is not.
func (w *world) wantsReason(reason string) {
	w.t.Helper()
	c := apimeta.FindStatusCondition(w.status().Status.Conditions, "Enforced")
	if c == nil || c.Reason != reason || (c.Status == metav1.ConditionTrue) != (reason == "Enforced" || reason == "KindNotServed") {
		w.t.Fatalf("condition Enforced is %+v, want reason %s", c, reason)
	}
}

// wantsEvent checks which event was written last.
func (w *world) wantsEvent(want string) {
	w.t.Helper()
	var last string
	for recorder := w.agent.Recorder.(*events.FakeRecorder); len(recorder.Events) > 0; {
		last = <-recorder.Events
	}
	if last != want {
		w.t.Fatalf("the last event is %q, want %q", last, want)
	}
}

// wantsConditions checks which conditions there are beside the summary.
func (w *world) wantsConditions(want ...string) {
	w.t.Helper()
	var got []string
	for _, c := range w.status().Status.Conditions {
		if c.Type != "Enforced" {
			got = append(got, c.Type)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("conditions (-want +got):\n%s", diff)
	}
}

// wantsQuota checks what the ResourceQuota says.
func (w *world) wantsQuota(revision string, hard ...string) {
	w.t.Helper()
	q := w.quota()
	if got := q.Annotations["quota.fedquota.io/revision"]; got != revision {
		w.t.Errorf("revision %q of the ResourceQuota, want %q", got, revision)
	}
	if diff := cmp.Diff(list(hard...), q.Spec.Hard); diff != "" {
		w.t.Fatalf("spec.hard (-want +got):\n%s", diff)
	}
}

// unwritten checks that do writes nothing into the ResourceQuota.
func (w *world) unwritten(do func()) {
	w.t.Helper()
	before := w.quota()
	do()
	if after := w.quota(); after.ResourceVersion != before.ResourceVersion {
		w.t.Fatalf("the ResourceQuota was written:\n%s", cmp.Diff(before, after))
	}
}

// pass lets time pass for the next report.
func (w *world) pass() { w.clock.Step(time.Second) }
