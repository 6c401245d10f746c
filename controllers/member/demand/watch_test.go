package demand

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestAnotherOfTheName has objects be deleted and created again under their names while the agent is cut off, of which
// informers tell as an update: nothing of the first ones is kept.
func TestAnotherOfTheName(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	w := &Watch{Demand: &Demand{Client: noShares{}, Clock: clock, Book: demand.NewBook(), Nodes: &capacity.Nodes{}}}
	pod := func(uid types.UID, owner types.UID) any {
		return noteOrFail(t, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: "db-0", UID: uid, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
			},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				LastTransitionTime: metav1.NewTime(clock.Now()),
			}}},
		})
	}
	set := func(uid types.UID, replicas int32) any {
		return noteOrFail(t, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "db", UID: uid},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, PodManagementPolicy: appsv1.ParallelPodManagement},
		})
	}
	node := func(uid types.UID, ready corev1.ConditionStatus) any {
		return noteOrFail(t, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node", UID: uid},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{"pods": resource.MustParse("5")},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
			},
		})
	}

	before := []any{pod("pod-1", "set-1"), set("set-1", 3), node("node-1", corev1.ConditionTrue)}
	for _, object := range before {
		w.follow(t.Context(), nil, object)
	}
	for i, object := range []any{pod("pod-2", "set-2"), set("set-2", 2), node("node-2", corev1.ConditionFalse)} {
		w.follow(t.Context(), before[i], object)
	}
	share, _ := inForce("10", "1")
	share.Namespace, share.Name = "team", "compute"
	lacks := func() amount.List {
		needs, _ := w.Book.Demand(share, clock.Now())
		return shape.Total(needs)
	}
	clock.Step(pace.ProgressPatience)
	if diff := cmp.Diff(amount.List{"pods": 1}, lacks()); diff != "" {
		t.Errorf("the second set lacks (-want +got):\n%s", diff)
	}
	w.unset(t.Context(), pod("pod-2", "set-2"))
	clock.Step(pace.UnschedulableAfter)
	if diff := cmp.Diff(amount.List{"pods": 2}, lacks()); diff != "" || w.Book.Full(share, clock.Now()) {
		t.Errorf("once no pod waits for a node (full: %t) it lacks (-want +got):\n%s", w.Book.Full(share, clock.Now()), diff)
	}
	if report := w.Nodes.Report(clock.Now(), pace.NodeGrace); report.Nodes != 0 {
		t.Errorf("%d nodes count, of which none was ever ready", report.Nodes)
	}
}

// noShares is a client that knows of no shares.
type noShares struct{ client.Client }

func (noShares) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
