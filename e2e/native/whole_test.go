//go:build e2e

package native_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// whole are budgets that do not come out even: limits are such that whole requests fit.
func whole() []row {
	weighted := "{rebalance: {mode: Static}, distribution: {rules: [{clusters: [west], weight: 2}]}}"
	return of(sectionWhole, []row{
		{what: "16, then 24 GPUs; 2 pods of 8 in each", name: "requests.nvidia.com/gpu", unit: "8", play: oneMore("{limits: {nvidia.com/gpu: 8}}", "24")},
		{what: "8Gi, then 14Gi; 2 pods of 4Gi in each", name: "requests.memory", unit: "4Gi", play: oneMore("{requests: {memory: 4Gi}}", "14Gi")},
		{
			what: "18Gi, `granularity` of 4Gi; pods of 3Gi in `east`", name: "requests.memory", unit: "3Gi",
			spec: "{distribution: {granularity: {requests.memory: 4Gi}}}", object: pod("{requests: {memory: 3Gi}}"), play: inSteps,
		},
		{
			what: "20Gi by weights of 1 and 2, `granularity` of 4Gi, mode `Static`", name: "requests.memory", unit: "1Gi",
			spec: "{rebalance: {mode: Static}, distribution: {granularity: {requests.memory: 4Gi}, rules: [{clusters: [west], weight: 2}]}}",
			play: splitBy("20Gi", "8Gi", "12Gi"),
		},
		{what: "8 GPUs by weights of 1 and 2, mode `Static`", name: "requests.nvidia.com/gpu", unit: "1", spec: weighted, play: splitBy("8", "3", "5")},
		{what: "10 pods by weights of 1 and 2, mode `Static`", name: "pods", unit: "1", spec: weighted, play: splitBy("10", "3", "7")},
	})
}

// oneMore has a ReplicaSet of one pod in each member, for which there is room, and has both lack a second one. Then the
// budget has more, of which the half is less than a pod: one of them has its second, and the other one once that is
// gone.
func oneMore(resources, more string) func(*scene) {
	return func(s *scene) {
		s.budget(budgetName, s.spec, s.charge(2, 2))
		s.sight.limits[0] = s.limits()
		sets := map[string]*unstructured.Unstructured{}
		for _, member := range []string{east, west} {
			sets[member] = s.fits(member, replicaSet(1, resources))
			s.uses(member, 1)
		}
		for member, set := range sets {
			s.changes(member, "", set, "spec: {replicas: 2}")
		}
		s.lacks(east, 1)
		s.lacks(west, 1)
		s.raise(more)
		winner, other := s.hasSecond()
		s.sight.limits[1] = s.limits()
		s.changes(winner, "", sets[winner], "spec: {replicas: 1}")
		s.uses(other, 2)
		s.uses(winner, 1)
		s.sight.limits[2] = s.limits()
		s.sight.note = "one has its second, and the other one once that is gone"
	}
}

// inSteps has pods come until they use all of a budget: limits are whole steps, until the rest of the budget is needed.
func inSteps(s *scene) {
	const pods = 6
	s.budget(budgetName, s.spec, s.charge(pods, 1))
	s.stepped()
	s.sight.limits[0] = s.limits()
	for n := range int64(pods) {
		s.fits(east, s.object)
		s.uses(east, n+1)
		if n+1 < pods {
			s.stepped()
		}
		if n+1 == 3 {
			s.sight.limits[1] = s.limits()
		}
	}
	s.have(pods, 0)
	s.sight.limits[2] = s.limits()
	s.must(s.refusedBy(budgetName, east, pods, s.creates(east, s.object)))
	s.sight.note = "whole steps, until the last pod needs the rest of the budget"
}

// stepped waits until each limit is a whole number of 4Gi.
func (s *scene) stepped() {
	s.Helper()
	s.eventually("limits in whole steps", func(context.Context) error {
		for i, limit := range s.limits() {
			if limit.Value()%(4<<30) != 0 {
				return fmt.Errorf("%s is the limit of member %d", limit.String(), i)
			}
		}
		return nil
	})
}

// lacks waits until a member says that it lacks so many pods.
func (s *scene) lacks(member string, pods int64) {
	s.Helper()
	s.eventually(member+" to state what it lacks", func(ctx context.Context) error {
		share := &quotav1alpha1.QuotaShare{}
		err := s.clients[member].Get(ctx, s.key(budgetName), share)
		lacks := share.Status.Demand[corev1.ResourceName(s.name)]
		if err == nil && lacks.Cmp(times(pods, s.unit)) != 0 {
			err = fmt.Errorf("it lacks %s", lacks.String())
		}
		return err
	})
}

// raise gives the budget more.
func (s *scene) raise(hard string) {
	s.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: budgetName}}
	patch := fmt.Appendf(nil, `{"spec":{"hard":{%q:%q}}}`, s.name, hard)
	s.must(s.clients[hub].Patch(s.Context(), fq, client.RawPatch(types.MergePatchType, patch)))
}

// hasSecond waits until one member is charged two objects, and returns it and the other one, which is charged one.
func (s *scene) hasSecond() (winner, other string) {
	s.Helper()
	s.eventually("a second pod", func(ctx context.Context) error {
		inEast, err := s.used(ctx, east, budgetName)
		inWest, errWest := s.used(ctx, west, budgetName)
		if winner, other = east, west; inWest.Cmp(inEast) > 0 {
			winner, other = west, east
		}
		sum := inEast.DeepCopy()
		sum.Add(inWest)
		if err == nil && sum.Cmp(times(3, s.unit)) != 0 {
			err = fmt.Errorf("%s and %s are charged", inEast.String(), inWest.String())
		}
		return errors.Join(err, errWest)
	})
	return winner, other
}

// splitBy sees limits in force.
func splitBy(budget, inEast, inWest string) func(*scene) {
	return func(s *scene) {
		s.budget(budgetName, s.spec, resource.MustParse(budget))
		s.sight.limits[0] = s.limits()
		for i, want := range []string{inEast, inWest} {
			if limit := s.sight.limits[0][i]; limit.String() != want {
				s.Errorf("the limit of member %d is %s, want %s", i, limit.String(), want)
			}
		}
	}
}
