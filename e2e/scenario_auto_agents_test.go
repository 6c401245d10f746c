//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// pair is two agents of one member of which one leads. Both answer the webhook; the switchboard says which one is
// asked.
type pair struct {
	*switchboard
	agents [2]*fleet.Process
	ports  [2]int
}

// testElectedAgents has requests wait at the agent that does not lead, and kills the one that leads while they do.
func testElectedAgents(t *testing.T, w *world) {
	s := newScenario(t, w, "elected", budget("30", "60"))
	s.create(budget("30", "60"), following, func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Admission.WaitMilliseconds = new(int32(5000))
	})
	s.rest("no demand yet")
	s.witness(1)
	agents := s.pairIn(north)
	const leading, other = 0, 1

	agents.ask(s, other)
	s.held("seen-by-the-other", "20")

	s.fault("two agents with leader election in north; the leading one killed (SIGKILL) while requests wait at the other")
	s.deploy(north, "web", 24, "1")
	s.moment(stepWindow)
	s.must(agents.agents[leading].Kill())
	s.Logf("24 pods %s after the leading agent was killed", s.runs(north, "web", 24).Round(time.Millisecond))
	s.undeploy(north, "web")

	s.must(agents.agents[leading].Restart(t.Context()))
	agents.ask(s, leading)
	s.held("seen-by-the-former-leader", "20")
	s.finish()
}

// pairIn replaces the agent of a member by two, of which the first leads, until the test ends.
func (s *scenario) pairIn(member string) *pair {
	s.Helper()
	p := &pair{switchboard: newSwitchboard(s.T)}
	s.must(s.Agents[member].Kill())
	s.Cleanup(func() {
		for _, agent := range p.agents {
			if agent != nil {
				_ = agent.Kill()
			}
		}
		s.must(s.Agents[member].Restart(context.Background()))
	})
	for i := range p.agents {
		var err error
		p.ports[i], err = fleet.FreePort(s.Context())
		s.must(err)
		p.agents[i], err = s.StartElectedAgent(s.Context(), s.Member(member), fmt.Sprintf("agent-%s-elected-%d", member, i), p.ports[i], "https://"+p.Addr().String())
		s.must(err)
		s.eventually("a leader", func(ctx context.Context) error {
			_, err := s.leader(ctx, s.member(member), "fedquota-agent")
			return err
		})
	}
	return p
}

// leader returns who leads the managers of a control plane; that nobody does is an error.
func (s *scenario) leader(ctx context.Context, c client.Client, name string) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "fedquota-system", Name: name}, lease); err != nil {
		return "", err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" {
		return "", errors.New("nobody holds the lease")
	}
	return holder, nil
}

// ask leads the requests of north to one of the two.
func (p *pair) ask(s *scenario, agent int) {
	s.Helper()
	p.to(p.ports[agent])
	s.eventually("the webhook to be called", func(ctx context.Context) error {
		err := s.member(north).Create(ctx, newPod(s.key.Namespace, "probe", "1000"), client.DryRunAll)
		if err == nil || !containsAll(err.Error(), []string{"pods.fedquota.io", "fleet: used"}) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// held creates a pod in north that has to wait for a raise, and removes it. Nobody else asks for that much: if the
// demand did not come through, the pod would never be.
func (s *scenario) held(name, cpus string) {
	s.Helper()
	start := time.Now()
	pod := newPod(s.key.Namespace, name, cpus)
	attempts := 0
	s.eventually("a pod that has to wait for a raise", func(ctx context.Context) error {
		attempts++
		return s.member(north).Create(ctx, pod.DeepCopy())
	})
	s.Logf("a pod of %s cpus, %s, was created after %s, at attempt %d", cpus, name, time.Since(start).Round(time.Millisecond), attempts)
	s.must(s.member(north).Delete(s.Context(), pod))
}
