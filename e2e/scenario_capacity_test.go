//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// testCapacity has a budget of all cpus that the nodes of the members have: it rises when a node comes, whoever waits
// for it is served, and a node that goes leaves debt, which nobody is hurt by.
func testCapacity(t *testing.T, w *world) {
	s := newScenario(t, w, "capacity", budget("10", "60"))
	nodes := s.schedule(north, 2, "5")
	s.reported(2, "10") // nodes of a scenario before count until an agent has told that they are gone
	s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) {
		following(fq)
		fq.Spec.Capacity = &quotav1alpha1.Capacity{Resources: []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(cpu)}}
	})
	s.madeFrom("10", "2 nodes in 3 clusters")
	s.settle()
	s.deploy(north, "web", 10, "1")
	s.runs(north, "web", 10)
	s.settle() // native quota lets in a pod too many while limits rise
	s.must(s.tryScale(t.Context(), north, "web", 12))

	began := time.Now()
	s.must(s.observer.ChangeBudget(t.Context(), budget("15", "60"), func(ctx context.Context) error {
		return s.member(north).Create(ctx, nodes.Node("big"))
	}))
	s.madeFrom("15", "3 nodes in 3 clusters")
	s.runs(north, "web", 12)
	s.Logf("12 pods are there %s after the node was created", time.Since(began).Round(100*time.Millisecond))

	s.must(s.observer.ChangeBudget(t.Context(), budget("10", "60"), func(ctx context.Context) error {
		return s.member(north).Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "big"}})
	}))
	s.madeFrom("10", "2 nodes in 3 clusters")
	s.must(s.tryScale(t.Context(), north, "web", 6))
	s.runs(north, "web", 6)
	s.settle()
	s.finish()
}

// reported waits until the hub knows of so many nodes in all members, and of so many cpus on them.
func (s *scenario) reported(nodes int32, cpus string) {
	s.Helper()
	s.eventually(fmt.Sprintf("reports of %d nodes with %s cpus", nodes, cpus), func(ctx context.Context) error {
		var reports quotav1alpha1.ClusterCapacityList
		if err := s.hub.List(ctx, &reports); err != nil {
			return err
		}
		var count int32
		var sum resource.Quantity
		for _, r := range reports.Items {
			count += ptr.Deref(r.Nodes, 0)
			sum.Add(r.Allocatable[corev1.ResourceCPU])
		}
		if len(reports.Items) != len(s.watchers) || count != nodes || sum.Cmp(resource.MustParse(cpus)) != 0 {
			return fmt.Errorf("%d members report %d nodes with %s cpus", len(reports.Items), count, sum.String())
		}
		return nil
	})
}

// madeFrom waits until the budget is so many cpus, and says of what nodes it was made.
func (s *scenario) madeFrom(cpus, summary string) {
	s.Helper()
	s.eventually("a budget of "+cpus+" cpus, made from "+summary, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		is, found := fq.Status.Hard[cpu], fq.Status.Capacity
		if found == nil || is.String() != cpus || found.Summary != summary {
			err = fmt.Errorf("it is %s cpus, made from %+v", is.String(), found)
		}
		return err
	})
}
