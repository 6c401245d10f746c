//go:build e2e

package clusterapi_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/observer"
	"github.com/fedquota/fedquota/e2e/system"
)

// budget is the FederatedQuota of the test, and by the same name the limits in members.
var budget = client.ObjectKey{Namespace: "team-a", Name: "compute"}

// TestBesideClusterAPI has the hub manager and the manager of Cluster API's core work on the same Clusters.
func TestBesideClusterAPI(t *testing.T) {
	w := startWorld(t)
	w.bringsUp()
	w.shares(20)
	w.enforce(map[string]int64{east: 10, west: 10})
	w.marked(east, west)
}

// shares makes a budget of pods that is split evenly over the clusters of tier prod.
func (w *world) shares(pods int64) {
	w.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: podsOf(pods),
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}, CreateNamespace: new(true),
			},
			Rebalance: quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic},
		},
	}
	w.must(w.hub.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: budget.Namespace}}))
	w.must(w.hub.Create(w.Context(), fq))
}

func podsOf(n int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
}

// enforce waits until members have limits in force.
func (w *world) enforce(want map[string]int64) {
	w.Helper()
	w.eventually(fmt.Sprintf("limits of %v", want), func(ctx context.Context) error {
		got := map[string]int64{}
		for name := range want {
			member, err := system.Client(w.Member(name))
			w.must(err)
			quota := &corev1.ResourceQuota{}
			if err := member.Get(ctx, budget, quota); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			got[name] = quota.Status.Hard.Pods().Value()
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("%v are in force", got)
		}
		return nil
	})
}

// marked sees that Clusters have kept the marker of the hub.
func (w *world) marked(names ...string) {
	w.Helper()
	for _, name := range names {
		cluster, err := w.cluster(w.Context(), name)
		w.must(err)
		if cluster.Annotations[quotav1alpha1.MemberAnnotation] == "" {
			w.Errorf("Cluster %s has lost its marker: %v", name, cluster.Annotations)
		}
	}
}

// observe has an observer judge the budget from outside.
func (w *world) observe(pods int64) *observer.Observer {
	w.Helper()
	members := map[string]*rest.Config{}
	for _, m := range w.Members {
		members[m.Name] = m.Config
	}
	o, err := observer.Watch(context.WithoutCancel(w.Context()), observer.Options{
		Members: members, Namespace: budget.Namespace, Name: budget.Name, Budget: podsOf(pods),
		OnExcess: func(e observer.Excess) { w.Logf("EXCESS: %+v", e) },
	})
	w.must(err)
	return o
}
