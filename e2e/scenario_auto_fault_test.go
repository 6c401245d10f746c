//go:build e2e

package e2e_test

import (
	"context"
	"math/rand/v2"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// testAutoKills kills hub managers, of which there are two, and agents at random moments while limits follow bursts of
// demand.
func testAutoKills(t *testing.T, w *world) {
	s := newScenario(t, w, "auto-kills", budget("30", "60"))
	s.create(budget("30", "60"), following)
	s.settle()
	s.witness(2)
	victims := []*fleet.Process{w.HubManager, w.spareHub(t), w.Agents[east], w.Agents[west], w.Agents[north]}
	end := s.bursts()
	s.storm(east)
	const rounds = 20
	for n := range rounds {
		victim := victims[rand.IntN(len(victims))]
		s.moment(3 * stepWindow)
		s.must(victim.Kill())
		s.moment(stepWindow)
		s.must(victim.Restart(t.Context()))
		switch n {
		case rounds / 3:
			s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("18", "36") })
		case 2 * rounds / 3:
			s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("30", "60") })
		}
	}
	s.fault("limits follow bursts of demand; two hub managers at once; %d kills (SIGKILL) of them and of agents; the budget cut and restored", rounds)
	end()
	s.endStorms()
	s.follows(west, 20)
	s.finish()
}

// testAutoNetwork cuts a member off and stops the quota controller of another, each over a cut of the budget, while
// limits follow bursts of demand.
func testAutoNetwork(t *testing.T, w *world) {
	s := newScenario(t, w, "auto-network", budget("30", "60"))
	s.create(budget("30", "60"), following)
	s.settle()
	s.witness(1)
	end := s.bursts()
	s.storm(west)
	s.fault("limits follow bursts of demand; west cut off; the budget cut from 30 to 18 cpu")
	s.moment(3 * stepWindow)
	s.proxies[west].Stop()
	s.Cleanup(func() { _ = s.proxies[west].Start() })
	s.moment(3 * stepWindow)
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("18", "36") })
	s.condition(quotav1alpha1.ConditionUnreachable, west)
	s.must(s.proxies[west].Start())
	s.noCondition(quotav1alpha1.ConditionUnreachable)

	s.fault("quota controller of north stopped (SIGKILL); the budget restored to 30 cpu")
	manager := w.Member(north).Process(fleet.ControllerManager)
	s.must(manager.Kill())
	s.Cleanup(func() { s.must(manager.Restart(context.Background())) })
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("30", "60") })
	s.condition(quotav1alpha1.ConditionStuckQuotaController, north)
	s.must(manager.Restart(t.Context()))
	s.noCondition(quotav1alpha1.ConditionStuckQuotaController)
	end()
	s.endStorms()
	s.follows(west, 20)
	s.finish()
}
