//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// stepWindow is within what time a change is through: a fault at a random moment of it hits any step.
const stepWindow = 400 * time.Millisecond

// testKills kills hub manager and agents at random moments of changes, under load.
func testKills(t *testing.T, w *world) {
	s := newScenario(t, w, "kills", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(2)
	s.storm()
	victims := []*fleet.Process{w.HubManager, w.HubManager, w.Agents[east], w.Agents[west], w.Agents[north]}
	const rounds = 24
	for n := range rounds {
		if n%6 == 5 {
			s.change(func(fq *quotav1alpha1.FederatedQuota) {
				fq.Spec.Hard = budget([]string{"18", "30"}[n/6%2], []string{"36", "60"}[n/6%2])
			})
		} else {
			s.turn(n)
		}
		s.moment(stepWindow)
		victim := victims[rand.IntN(len(victims))]
		s.must(victim.Kill())
		if n%3 == 0 {
			s.must(w.HubManager.Restart(t.Context()))
		}
		s.moment(stepWindow)
		s.must(victim.Restart(t.Context()))
		if n%4 == 3 {
			s.progress()
		}
	}
	s.fault("%d kills (SIGKILL) of hub manager and agents at random moments", rounds+rounds/3)
	s.turn(0)
	s.endStorms()
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("30", "60") })
	s.split(sample)
	s.finish()
}

// testTwoHubs has two hub managers at once, without leader election.
func testTwoHubs(t *testing.T, w *world) {
	s := newScenario(t, w, "two-hubs", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	w.spareHub(t)
	s.fault("two hub managers at once, 15 changes")
	s.storm(east, west)
	for n := range 15 {
		s.turn(n)
		if n%3 == 2 {
			s.progress()
		} else {
			s.moment(stepWindow)
		}
	}
	s.turn(0)
	s.endStorms()
	s.split(sample)
	s.finish()
}

// testOldLeader pauses a hub manager in the middle of a change, lets another one lower and raise, and continues it.
func testOldLeader(t *testing.T, w *world) {
	s := newScenario(t, w, "old-leader", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	spare := w.spareHub(t)
	s.storm(west)
	const rounds = 5
	for n := range rounds {
		old := spare
		if n == 0 { // but then each change waits for its webhook, up to 20 s
			old = w.HubManager
		}
		s.turn(3 * n)
		s.moment(stepWindow / 2)
		s.pause(old)
		s.turn(3*n + 1)
		s.progress()
		s.turn(3*n + 2)
		s.progress()
		s.must(old.Resume())
		s.progress()
	}
	s.fault("%d times the acting hub manager paused (SIGSTOP) at a random moment, over a lower and a raise by another, then continued", rounds)
	n := 0
	s.eventually("a write that was decided on an older state to be refused, and counted", func(ctx context.Context) error {
		refused, _, err := s.hubMetric(ctx, "fedquota_fenced_writes_total", nil)
		if err == nil && refused == 0 {
			n++
			s.turn(n) // both decide anew
			err = errors.New("none was")
		}
		return err
	})
	s.turn(0)
	s.endStorms()
	s.split(sample)
	s.finish()
}

// testElectedHubs has two hub managers of which one is elected, as in a Deployment, and kills the one that leads in the
// middle of a change: nothing moves until its Lease has run out, and then the other one goes on.
func testElectedHubs(t *testing.T, w *world) {
	s := newScenario(t, w, "elected-hubs", budget("30", "60"))
	s.must(w.HubManager.Kill())
	s.Cleanup(func() { s.must(w.HubManager.Restart(context.Background())) })
	leader := s.electedHub(0)
	var first string
	s.eventually("a leader", func(ctx context.Context) (err error) {
		first, err = s.leader(ctx, s.hub, "fedquota-hub")
		return err
	})
	s.electedHub(1)
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.eventually("the first alone to have had to do with the quota", func(ctx context.Context) error {
		_, served, err := s.hubMetric(ctx, "fedquota_granted", map[string]string{"namespace": s.key.Namespace, "resource": cpuName})
		if err == nil && served != 1 {
			err = fmt.Errorf("%d hub managers have", served)
		}
		return err
	})
	s.eventually("the election to be an event", func(ctx context.Context) error {
		return s.event(ctx, s.hub, "fedquota-system", "Lease", "LeaderElection")
	})

	s.fault("two hub managers with leader election; the leading one killed (SIGKILL) in the middle of a change")
	s.storm(east, west)
	s.turn(1)
	s.moment(stepWindow)
	s.must(leader.Kill())
	killed := time.Now()
	s.turn(2)
	s.eventually("the other one to lead", func(ctx context.Context) error {
		now, err := s.leader(ctx, s.hub, "fedquota-hub")
		if err == nil && now == first {
			err = fmt.Errorf("%s leads", now)
		}
		return err
	})
	s.progress()
	s.Logf("the other hub manager led, and all had confirmed, %s after the leading one was killed", time.Since(killed).Round(time.Millisecond))
	s.must(leader.Restart(t.Context())) // as a Deployment does
	s.turn(0)
	s.endStorms()
	s.split(sample)
	s.finish()
}

// electedHub starts a hub manager that acts while it is elected, until the test ends.
func (s *scenario) electedHub(n int) *fleet.Process {
	s.Helper()
	p, err := s.StartElectedHubManager(s.Context(), fmt.Sprintf("%s-elected-%d", system.HubManager, n))
	s.must(err)
	s.Cleanup(func() { s.must(p.Kill()) })
	return p
}

// pause stops a process as it stands, at the latest until the test ends.
func (s *scenario) pause(p *fleet.Process) {
	s.Helper()
	s.must(p.Pause(s.Context()))
	s.Cleanup(func() { _ = p.Resume() })
}

// testTwoAgents has two agents in two members, one of which is paused over a lower and a raise and continued.
func testTwoAgents(t *testing.T, w *world) {
	s := newScenario(t, w, "two-agents", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	w.spareAgent(t, east)
	w.spareAgent(t, west)
	s.storm(east, west)
	const rounds = 6
	for n := range rounds {
		s.turn(3 * n)
		s.moment(stepWindow / 2)
		paused := []*fleet.Process{w.Agents[east], w.Agents[west]}
		for _, p := range paused {
			s.pause(p)
		}
		s.turn(3*n + 1)
		s.progress()
		s.turn(3*n + 2)
		s.progress()
		for _, p := range paused {
			s.must(p.Resume())
		}
		s.progress()
	}
	s.fault("two agents in east and west; %d times one of each paused (SIGSTOP) over a lower and a raise by the other, then continued", rounds)
	s.turn(0)
	s.endStorms()
	s.split(sample)
	s.finish()
}
