//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testRollout has a Deployment in east replace its 9 pods, which with 3 in west are all that the budget holds, while west
// wants 17 more: east has its 9 pods again, though others use less.
func testRollout(t *testing.T, w *world) {
	s := newScenario(t, w, "rollout", budget("12", "60"))
	s.schedule(east, 4, "5")
	s.create(budget("12", "60"), following)
	s.settle()
	s.deploy(west, "batch", 3, "1")
	s.runs(west, "batch", 3)
	set := s.deployment("web", 9, "1")
	web := &appsv1.Deployment{ObjectMeta: set.ObjectMeta, Spec: appsv1.DeploymentSpec{Replicas: set.Spec.Replicas, Selector: set.Spec.Selector, Template: set.Spec.Template}}
	s.must(s.member(east).Create(t.Context(), web))
	s.rolledOut(web)
	s.must(s.tryScale(t.Context(), west, "batch", 20))
	s.asking(west)

	// By default up to 2 pods are missing meanwhile; with Recreate, all are for a moment.
	for n, strategy := range []string{`{"type":"RollingUpdate"}`, `{"type":"Recreate","rollingUpdate":null}`} {
		restart := fmt.Appendf(nil, `{"spec":{"strategy":%s,"template":{"metadata":{"annotations":{"restarted":"%d"}}}}}`, strategy, n)
		s.must(s.member(east).Patch(t.Context(), web, client.RawPatch(types.MergePatchType, restart)))
		s.rolledOut(web)
		s.runs(west, "batch", 3)
		s.asking(west)
	}

	s.must(s.member(east).Delete(t.Context(), web, client.PropagationPolicy("Background")))
	s.runs(east, "web", 0)
	s.undeploy(west, "batch")
	s.finish()
}

// rolledOut waits until a Deployment has all of its pods, none of an earlier template.
func (s *scenario) rolledOut(deployment *appsv1.Deployment) {
	s.Helper()
	s.eventually("the rollout of "+deployment.Name, func(ctx context.Context) error {
		if err := s.member(east).Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		status, want := deployment.Status, *deployment.Spec.Replicas
		if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < want || status.AvailableReplicas < want || status.Replicas > want {
			return fmt.Errorf("%d of its %d pods are of the present template, %d are available", status.UpdatedReplicas, status.Replicas, status.AvailableReplicas)
		}
		return nil
	})
}
