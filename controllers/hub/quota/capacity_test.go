package quota

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
)

// runs has the hub know of nodes of a cluster for so many pods.
func (w *world) runs(cluster string, nodes int32, pods string) {
	w.t.Helper()
	report := &quotav1alpha1.ClusterCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: w.clusters, Name: cluster}}
	err := servers[hubName].Get(w.t.Context(), client.ObjectKeyFromObject(report), report)
	w.must(client.IgnoreNotFound(err))
	report.Nodes, report.Allocatable = &nodes, corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}
	if err != nil {
		w.must(servers[hubName].Create(w.t.Context(), report))
		return
	}
	w.must(servers[hubName].Update(w.t.Context(), report))
}

// TestBudgetFollowsNodes has a budget of half of what nodes can run: a cluster without a report counts for nothing,
// nodes that go leave debt and hurt nobody, and hard bounds it.
func TestBudgetFollowsNodes(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.runs("east", 2, "20")
	w.create(quotaName, `
hard: {pods: "18"}
capacity: {percent: 50}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`)
	budget := func(want, summary string) {
		t.Helper()
		w.settle()
		status := w.quota().Status
		pods := status.Hard[corev1.ResourcePods]
		if diff := cmp.Diff([]string{want, summary}, []string{pods.String(), status.Capacity.Summary}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	budget("10", "2 nodes in 1 cluster, 1 without a report")
	w.runs("west", 1, "10")
	budget("15", "3 nodes in 2 clusters")
	w.runs("west", 3, "30")
	budget("18", "5 nodes in 2 clusters") // hard

	w.agents["east"].used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")}
	w.settle()
	w.runs("east", 0, "0")
	w.runs("west", 1, "12")
	budget("6", "1 node in 2 clusters")
	if diff := cmp.Diff([]string{"east 3/9 Draining", "west 3/3 Settled"}, w.ledger(corev1.ResourcePods)); diff != "" {
		t.Errorf("nodes are gone: -want +got:\n%s", diff)
	}
	w.runs("west", 3, "30")
	budget("15", "3 nodes in 2 clusters")

	w.edit(`
hard: {pods: "18"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`)
	w.settle()
	if status := w.quota().Status; status.Capacity != nil {
		t.Errorf("a budget that follows no nodes says %+v", status.Capacity)
	}
}

// TestWeightsOfNodes splits a budget by what the nodes of each cluster can run.
func TestWeightsOfNodes(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.runs("east", 3, "30")
	w.runs("west", 1, "10")
	w.create(quotaName, `
hard: {pods: "20", services: "9"}
placement: {clusterSelector: {}}
distribution: {weights: Capacity, rules: [{weight: 7}]}
rebalance: {mode: Static}`)
	w.settle()
	for name, want := range map[corev1.ResourceName][]string{
		corev1.ResourcePods:     {"east 15/15 Settled", "north 0/0 Settled", "west 5/5 Settled"},
		corev1.ResourceServices: {"east 3/3 Settled", "north 3/3 Settled", "west 3/3 Settled"},
	} {
		if diff := cmp.Diff(want, w.ledger(name)); diff != "" {
			t.Errorf("%s -want +got:\n%s", name, diff)
		}
	}
}

// TestNoRoomWithoutNodes lends a cluster whose nodes stay what they are no more than they can run, and goes on as before
// where that is not known.
func TestNoRoomWithoutNodes(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.runs("east", 1, "10")
	w.grows("east", "4")
	w.create(quotaName, `
hard: {pods: "40"}
placement: {clusterSelector: {}}`)
	w.settle()
	for _, name := range []string{"east", "west"} {
		w.agents[name].wants = 15
	}
	w.settle()
	if diff := cmp.Diff([]string{"4", "15"}, []string{w.inUse("east"), w.inUse("west")}); diff != "" {
		t.Errorf("with room for 4: -want +got:\n%s", diff)
	}
	w.grows("east", "")
	w.settle()
	if got := w.inUse("east"); got != "15" {
		t.Errorf("east uses %s where nobody knows what its nodes can come to", got)
	}
}

// grows has the hub know that a cluster has room for so many pods and gets no more nodes, or know nothing of that.
func (w *world) grows(cluster, room string) {
	w.t.Helper()
	report := &quotav1alpha1.ClusterCapacity{}
	w.must(servers[hubName].Get(w.t.Context(), client.ObjectKey{Namespace: w.clusters, Name: cluster}, report))
	report.Growth, report.ReportTime = nil, &metav1.Time{Time: w.clock.Now()}
	if room != "" {
		report.Growth = &quotav1alpha1.CapacityGrowth{}
		report.Unused = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(room)}
	}
	w.must(servers[hubName].Update(w.t.Context(), report))
}

// comes has the hub know of nodes of a cluster for so many pods, of which so many are unused, and of what may still come
// for so many more.
func (w *world) comes(cluster, pods, unused, more string) {
	w.t.Helper()
	report := &quotav1alpha1.ClusterCapacity{}
	w.must(servers[hubName].Get(w.t.Context(), client.ObjectKey{Namespace: w.clusters, Name: cluster}, report))
	one := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(value)}
	}
	report.Allocatable, report.Unused, report.ReportTime = one(pods), one(unused), &metav1.Time{Time: w.clock.Now()}
	report.Growth = &quotav1alpha1.CapacityGrowth{Resources: one(more)}
	w.must(servers[hubName].Update(w.t.Context(), report))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.settle()
}

// TestShareTellsOfGrowth has a share tell what nodes may still come for, with what it is told anyway, and by itself only
// while pods wait for a node and what it tells is far from true. A member that does not keep it is not told again.
func TestShareTellsOfGrowth(t *testing.T) {
	w := newWorld(t, "east")
	w.runs("east", 1, "10")
	w.comes("east", "10", "10", "20")
	w.create(quotaName, `
hard: {pods: "10"}
placement: {clusterSelector: {}}`)
	w.settle()
	tells := func(what, want string, write bool, change func()) {
		t.Helper()
		before := w.share("east").Generation
		change()
		w.settle()
		share := w.share("east")
		most, told := share.Spec.MostAllocatable[corev1.ResourcePods]
		got := ""
		if told {
			got = most.String()
		}
		if got != want || (share.Generation > before) != write {
			t.Errorf("%s: it tells of %q, written: %t; want %q, %t", what, got, share.Generation > before, want, write)
		}
	}
	tells("from the start", "30", false, func() {})
	tells("a node has come", "30", false, func() { w.comes("east", "20", "20", "10") })
	tells("more may come, and nothing waits", "30", false, func() { w.comes("east", "20", "20", "60") })

	e := w.agents["east"]
	tells("pods wait", "80", true, func() {
		e.used, e.unscheduled = corev1.ResourceList{"pods": resource.MustParse("5")}, corev1.ResourceList{"pods": resource.MustParse("2")}
	})
	tells("a node has come while pods wait", "80", false, func() { w.comes("east", "30", "25", "50") })
	tells("a little more may come", "80", false, func() { w.comes("east", "30", "25", "60") })
	tells("a member of an earlier version", "", true, func() { // the write is this one
		share := w.share("east")
		share.Spec.MostAllocatable = nil
		w.must(servers["east"].Update(t.Context(), share, client.FieldOwner(quotav1alpha1.HubFieldManager)))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	})
	tells("much less may come", "40", true, func() { w.comes("east", "30", "25", "10") })
	tells("none may come", "", true, func() { w.comes("east", "40", "35", "0") })
}

// TestRoomOfPodsThatWait has pods that wait for a node take of the room once, and that more nodes may come not make those
// forgotten that were placed since the report.
func TestRoomOfPodsThatWait(t *testing.T) {
	w := newWorld(t, "east")
	w.runs("east", 1, "4")
	w.comes("east", "4", "4", "2")
	w.create(quotaName, `
hard: {pods: "100"}
placement: {clusterSelector: {}}`)
	w.settle()
	e := w.agents["east"]
	e.wants = 40
	w.settle()
	e.unscheduled = corev1.ResourceList{"pods": resource.MustParse("2")}
	w.settle()
	if got := w.inUse("east"); got != "6" {
		t.Errorf("%s pods are in use where nodes have a place for 4 and may come for 2", got)
	}

	report := &quotav1alpha1.ClusterCapacity{}
	w.must(servers[hubName].Get(t.Context(), client.ObjectKey{Namespace: w.clusters, Name: "east"}, report))
	report.Growth.Resources[corev1.ResourcePods] = resource.MustParse("8")
	w.must(servers[hubName].Update(t.Context(), report))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.settle()
	if got := w.inUse("east"); got != "12" {
		t.Errorf("%s pods are in use where nodes have a place for 4 and may come for 8", got)
	}
}

// inUse returns how many pods are in use in a member, as its share says.
func (w *world) inUse(member string) string {
	w.t.Helper()
	pods := w.share(member).Status.Used[corev1.ResourcePods]
	return pods.String()
}

// TestRoundsKeepWhatIsSaidOfNodes has somebody else say what is done to add nodes, and clusters ask for what only nodes
// that come could run.
func TestRoundsKeepWhatIsSaidOfNodes(t *testing.T) {
	w := newWorld(t, "east")
	w.runs("east", 1, "10")
	w.create(quotaName, `
hard: {pods: "40"}
capacity: {scaleOut: {machineDeploymentSelector: {}}}
placement: {clusterSelector: {}}`)
	w.settle()
	fq := w.quota()
	fq.Status.ScaleOut = &quotav1alpha1.ScaleOutStatus{Reason: quotav1alpha1.ReasonAtMaximum, Message: "at its end"}
	conditions.Set(&fq.Status.Conditions, metav1.Condition{
		Type: quotav1alpha1.ConditionScaleOutHeldBack, Status: metav1.ConditionTrue,
		Reason: quotav1alpha1.ReasonAtMaximum, Message: "at its end",
	}, fq.Generation, w.clock.Now())
	w.must(servers[hubName].Status().Update(t.Context(), fq))
	w.runs("east", 2, "20")
	w.settle()
	status := w.quota().Status
	pods := status.Hard[corev1.ResourcePods]
	held := apimeta.IsStatusConditionTrue(status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	if pods.String() != "20" || status.ScaleOut == nil || !held {
		t.Errorf("of a budget of %s pods, told is %+v, %+v", pods.String(), status.ScaleOut, status.Conditions)
	}
	if reach := w.share("east").Spec.Fleet.Budget[corev1.ResourcePods]; reach.String() != "40" {
		t.Errorf("the share says that requests may ask for %s pods", reach.String())
	}

	w.edit(`
hard: {pods: "40"}
capacity: {}
placement: {clusterSelector: {}}`)
	w.settle()
	status = w.quota().Status
	if status.ScaleOut != nil || apimeta.FindStatusCondition(status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack) != nil {
		t.Errorf("a budget that asks for no nodes says %+v, %+v", status.ScaleOut, status.Conditions)
	}
}
