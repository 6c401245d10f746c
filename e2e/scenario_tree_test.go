//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/observer"
)

// tree is three pools, acme above research and retail, and four budgets below them.
type tree struct {
	*scenario

	all    []*scenario
	levels []level
}

// level is a pool, what it has, and the budgets below it.
type level struct {
	pool   string
	budget corev1.ResourceList
	below  []*scenario
}

func newTree(t *testing.T, w *world) *tree {
	t.Helper()
	most, half, own := budget("24", "80"), budget("16", "60"), budget("20", "60")
	for _, name := range []string{"acme", "research", "retail"} {
		pool := newPool(name, half)
		if name == "acme" {
			pool.Spec.Hard = most
		} else {
			pool.Spec.Parent = "acme"
		}
		w.withPool(t, pool)
	}
	tr := &tree{levels: []level{{pool: "acme", budget: most}, {pool: "research", budget: half}, {pool: "retail", budget: half}}}
	for i, name := range []string{"tree-vision", "tree-speech", "tree-shop", "tree-till"} {
		team := &tr.levels[1+i/2]
		s := newScenario(t, w, name, own)
		s.create(own, following, func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(team.pool)}
		})
		s.isIn(team.pool)
		tr.all, team.below, tr.levels[0].below = append(tr.all, s), append(team.below, s), append(tr.levels[0].below, s)
	}
	tr.scenario = tr.all[0]
	return tr
}

// isIn waits until a FederatedQuota has been given a part by a pool.
func (s *scenario) isIn(pool string) {
	s.Helper()
	s.eventually("a part of "+pool, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && (fq.Status.Pool == nil || len(fq.Status.Pool.Cap) == 0 || string(fq.Status.Pool.Name) != pool) {
			err = fmt.Errorf("it is %+v", fq.Status.Pool)
		}
		return err
	})
}

// judged has an observer judge pools, and returns what sees that there was no violation.
func (tr *tree) judged(levels ...level) (end func()) {
	tr.Helper()
	options := observer.Options{
		Places: map[string]observer.Place{}, OnExcess: func(e observer.Excess) { tr.Logf("EXCESS in the tree: %+v", e) },
	}
	for _, l := range levels {
		judged := observer.Level{Name: l.pool, Budget: l.budget}
		for _, of := range l.below {
			for member, config := range tr.watchers {
				place := of.key.Namespace + " in " + member
				options.Places[place] = observer.Place{Config: config, Namespace: of.key.Namespace, Name: of.key.Name}
				judged.Places = append(judged.Places, place)
			}
		}
		options.Levels = append(options.Levels, judged)
	}
	o, err := observer.Watch(context.WithoutCancel(tr.Context()), options)
	tr.must(err)
	return func() {
		tr.Helper()
		report := o.Stop()
		if err := report.WriteTable(tr.Output()); err != nil {
			tr.Error(err)
		}
		for _, violation := range report.Violations() {
			tr.Error(violation)
		}
		record(levelsOf(tr.Name(), report)...)
	}
}

// moves has a pool stand in another one, with what is in use below it.
func (tr *tree) moves(name, to string) {
	tr.Helper()
	pool := &quotav1alpha1.QuotaPool{}
	tr.must(tr.hub.Get(tr.Context(), client.ObjectKey{Name: name}, pool))
	stored := pool.DeepCopy()
	pool.Spec.Parent = quotav1alpha1.PoolName(to)
	tr.must(tr.hub.Patch(tr.Context(), pool, client.MergeFrom(stored)))
}

// testTree has faults at every level of a tree of pools under load: at first the tree stays as it is, then budgets
// and a pool move within it with what they have in use.
func testTree(t *testing.T, w *world) {
	tr := newTree(t, w)
	for i, s := range tr.all {
		s.witness(1, w.names()[i%3])
	}
	end := tr.judged(tr.levels...)
	for i, s := range tr.all {
		s.storm(w.names()[i%3], w.names()[(i+1)%3])
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	tr.must(w.Hub.Snapshot(t.Context(), snapshot))
	for n := range 6 {
		tr.faults(n, snapshot)
	}
	tr.fault("6 rounds of hub managers and agents killed, ways made bad and etcd of the hub rolled back, below three pools")
	end()

	end = tr.judged(tr.levels[0])
	pools := []string{"research", "retail", "acme"}
	for n := range 12 {
		s, to := tr.all[n%4], pools[(n+n/4+1)%3]
		s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Pool.Name = quotav1alpha1.PoolName(to) })
		if n%4 == 2 {
			tr.moves("retail", []string{"research", "acme"}[n/4%2])
		}
		s.moment(stepWindow)
		if n%3 == 0 {
			tr.must(w.HubManager.Kill())
			tr.must(w.HubManager.Restart(t.Context()))
		}
		if n%4 == 3 {
			s.isIn(to)
		}
	}
	tr.fault("budgets in use moved 12 times between pools below acme, one of these 3 times, and the hub manager killed 4 times in between")
	tr.moves("retail", "acme")
	for n, s := range tr.all {
		s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Pool.Name = quotav1alpha1.PoolName(pools[n/2]) })
	}
	for n, s := range tr.all {
		s.isIn(pools[n/2])
		s.endStorms()
	}
	end()
	for _, s := range tr.all {
		s.finish()
	}
}

// faults has one round of faults.
func (tr *tree) faults(n int, snapshot string) {
	tr.Helper()
	member := tr.names()[n%3]
	bad := badWays[rand.IntN(len(badWays))]
	mend := tr.toxic(member, bad.kind, bad.stream, bad.attributes)
	tr.moment(stepWindow)
	tr.must(tr.HubManager.Kill())
	tr.must(tr.HubManager.Restart(tr.Context()))
	tr.moment(4 * stepWindow)
	mend()
	tr.must(tr.Agents[member].Kill())
	tr.must(tr.Agents[member].Restart(tr.Context()))
	if n%3 != 2 {
		return
	}
	tr.must(tr.Hub.Restore(tr.Context(), snapshot))
	for _, s := range tr.all {
		s.eventually("a revision above all that members have seen", s.ahead)
	}
}
