//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const teamLabel = "team"

// testTenant has a pool be the budget of a team's namespaces: ones that come, one that leaves with what runs there, and
// three that are deleted at once.
func testTenant(t *testing.T, w *world) {
	all := budget("24", "80")
	pool := newTenant("tenant", "vision", all)
	team := make([]*scenario, 5)
	for i := range team {
		team[i] = newScenario(t, w, fmt.Sprintf("tenant-%d", i), all)
	}
	// It goes before the scenarios do, as it makes each FederatedQuota again that they delete.
	w.withPool(t, pool)
	leaver, stayer, ended := team[0], team[1], team[2:]
	for _, s := range team {
		s.joinsTeam("vision")
		s.inPool(pool.Name)
	}
	total := leaver.judged(pool.Name, all, team[1:]...)

	leaver.deploy(east, "web", 20, "1")
	leaver.runs(east, "web", 20)
	leaver.joinsTeam("")
	leaver.fault("taken out of its team")
	leaver.eventually("the pool to give it nothing more", func(ctx context.Context) error {
		c, err := leaver.entryIn(ctx, pool)
		if target, listed := c.Target[cpu]; err == nil && (!listed || target.Sign() > 0) {
			err = fmt.Errorf("it has %+v", c)
		}
		return err
	})
	stayer.deploy(west, "train", 4, "1")
	stayer.runs(west, "train", 4)
	stayer.must(stayer.tryScale(t.Context(), west, "train", 12)) // beyond the budget: the observer of the pool judges it
	stayer.asking(west)
	leaver.runs(east, "web", 20)
	leaver.undeploy(east, "web")
	leaver.letGo()
	stayer.runs(west, "train", 12)

	for _, s := range ended {
		s.deploy(north, "jobs", 2, "1")
		s.runs(north, "jobs", 2)
	}
	total()
	for _, s := range ended {
		s.must(w.hub.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.key.Namespace}}))
	}
	for _, s := range ended {
		s.letGo()
		s.undeploy(north, "jobs")
	}
	stayer.eventually("the pool to count who is left", func(ctx context.Context) error {
		if err := w.hub.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		var sum resource.Quantity
		for _, c := range pool.Status.Children {
			sum.Add(c.Used[cpu])
		}
		if used := pool.Status.Used[cpu]; used.Cmp(sum) != 0 {
			t.Errorf("%s are used, and those of the children are %s", used.String(), sum.String())
		}
		if used := pool.Status.Used[cpu]; used.Value() != 12 || len(pool.Status.Children) != 1 || pool.Status.Namespaces != "1/1" {
			return fmt.Errorf("status %+v", pool.Status)
		}
		return nil
	})
	stayer.undeploy(west, "train")
	stayer.finish()
}

// newTenant returns a pool of the namespaces of a team.
func newTenant(name, team string, hard corev1.ResourceList) *quotav1alpha1.QuotaPool {
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	like := newQuota(client.ObjectKey{}, hard)
	following(like)
	pool.Spec.Hard, pool.Spec.Namespaces.Selector = hard, &metav1.LabelSelector{MatchLabels: map[string]string{teamLabel: team}}
	pool.Spec.Namespaces.Template = quotav1alpha1.QuotaTemplate{
		Name: quotaName, Placement: &like.Spec.Placement, Rebalance: like.Spec.Rebalance,
		Removal: quotav1alpha1.Removal{Policy: quotav1alpha1.RemovalDelete},
	}
	pool.Spec.Namespaces.Template.Admission.WaitMilliseconds = new(int32(5000))
	return pool
}

// joinsTeam labels the namespace on the hub.
func (s *scenario) joinsTeam(team string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.key.Namespace, Labels: map[string]string{teamLabel: team}}}
	s.must(s.hub.Patch(s.Context(), namespace, client.Merge))
}

// inPool waits until the namespace has a FederatedQuota that has a part of a pool.
func (s *scenario) inPool(pool string) {
	s.Helper()
	s.eventually("a FederatedQuota in "+pool, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && (fq.Status.Pool == nil || fq.Status.Pool.Revision == 0 || string(fq.Status.Pool.Name) != pool) {
			err = fmt.Errorf("it is %+v", fq.Status.Pool)
		}
		return err
	})
}

// entryIn returns the entry of the namespace's budget in a pool.
func (s *scenario) entryIn(ctx context.Context, pool *quotav1alpha1.QuotaPool) (quotav1alpha1.ChildStatus, error) {
	if err := s.hub.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
		return quotav1alpha1.ChildStatus{}, err
	}
	for _, c := range pool.Status.Children {
		if string(c.Key) == fmt.Sprintf("FederatedQuota/%s/%s", s.key.Namespace, s.key.Name) {
			return c, nil
		}
	}
	return quotav1alpha1.ChildStatus{}, errors.New("it has no entry")
}

// letGo waits until the FederatedQuota is gone.
func (s *scenario) letGo() {
	s.Helper()
	s.eventually("the FederatedQuota to be gone", func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w: %+v", err, fq)
	})
}
