package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
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
	w.runs("west", 1, "10")
	budget("5", "1 node in 2 clusters")
	if diff := cmp.Diff([]string{"east 2/9 Draining", "west 3/3 Settled"}, w.ledger(corev1.ResourcePods)); diff != "" {
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
