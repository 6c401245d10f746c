//go:build e2e

package native_test

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"
)

// whole are budgets that do not come out even: limits are such that whole requests fit.
func whole() []row {
	weighted := "{rebalance: {mode: Static}, distribution: {rules: [{clusters: [west], weight: 2}]}}"
	return of(sectionWhole, []row{
		{what: "8 GPUs, and a pod of 8 in each member", name: "requests.nvidia.com/gpu", unit: "8", object: pod("{limits: {nvidia.com/gpu: 8}}"), play: oneOfTwo},
		{what: "14Gi, and 2 pods of 4Gi in each member", name: "requests.memory", unit: "4Gi", play: threeOfFour},
		{what: "8 GPUs by weights of 1 and 2, mode `Static`", name: "requests.nvidia.com/gpu", unit: "1", spec: weighted, play: splitBy("8", "3", "5")},
		{what: "10 pods by weights of 1 and 2, mode `Static`", name: "pods", unit: "1", spec: weighted, play: splitBy("10", "3", "7")},
	})
}

// oneOfTwo has both members ask for all at the same time: one has it, and the other one once that is deleted.
func oneOfTwo(s *scene) {
	s.budget(budgetName, s.spec, s.charge(1, 2))
	s.sight.limits[0] = s.limits()
	var asking errgroup.Group
	for _, member := range []string{east, west} {
		object := s.new(s.object)
		asking.Go(func() error {
			return await(s.Context(), "one of the pods", func(ctx context.Context) error {
				if err := s.clients[member].Create(ctx, object.DeepCopy()); err == nil {
					return nil
				}
				return s.charged(ctx, s.charge(1, 2))
			})
		})
	}
	s.must(asking.Wait())
	winner, loser := east, west
	s.sight.limits[1] = s.limits()
	if s.sight.limits[1][0].IsZero() {
		winner, loser = west, east
	}
	s.uses(winner, 1)
	s.must(s.refusedBy(budgetName, loser, 0, s.creates(loser, s.object)))
	s.removeAll(winner)
	s.fits(loser, s.object)
	s.uses(loser, 1)
	s.sight.limits[2] = s.limits()
	s.sight.note = "one is made, and the other one once that is deleted"
}

// threeOfFour has ReplicaSets ask for more than there is: as many pods are made as fit into the whole of the budget.
func threeOfFour(s *scene) {
	s.budget(budgetName, s.spec, resource.MustParse("14Gi"))
	s.sight.limits[0] = s.limits()
	for _, member := range []string{east, west} {
		s.fits(member, replicaSet(2, "{requests: {memory: 4Gi}}"))
	}
	s.eventually("three pods", func(ctx context.Context) error { return s.charged(ctx, s.charge(3, 2)) })
	s.sight.limits[1] = s.limits()
	s.sight.note = "3 pods are made"
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

// charged says what both members are charged together, unless it is so much.
func (s *scene) charged(ctx context.Context, want resource.Quantity) error {
	var sum resource.Quantity
	for _, member := range []string{east, west} {
		used, err := s.used(ctx, member, budgetName)
		if err != nil {
			return err
		}
		sum.Add(used)
	}
	if sum.Cmp(want) != 0 {
		return fmt.Errorf("%s is charged in both", sum.String())
	}
	return nil
}
