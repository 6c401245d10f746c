//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/observer"
)

// testPools has two teams in use get a pool above them, lend to each other, and lose it again. A client that needs little
// creates without a pause while the pool comes, and while it goes.
func testPools(t *testing.T, w *world) {
	hard, all := budget("20", "60"), budget("24", "80")
	research := newPool("research", all)
	removes := w.withPool(t, research)
	vision, speech := newScenario(t, w, "pool-vision", hard), newScenario(t, w, "pool-speech", hard)
	for _, s := range []*scenario{vision, speech} {
		s.create(hard, following, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Admission.WaitMilliseconds = new(int32(5000)) })
		s.rest("no demand yet")
		s.witness(1)
	}
	creates := vision.goesOn(north)
	vision.enters(research.Name)
	speech.enters(research.Name)
	creates()
	total := vision.judged(research.Name, all, speech)

	vision.deploy(east, "web", 17, "1")
	took := vision.runs(east, "web", 17)
	vision.Logf("17 of 24 cpus in one namespace after %s", took.Round(time.Millisecond))
	speech.deploy(west, "train", 17, "1")
	speech.atLeast(west, "train", 5)
	vision.undeploy(east, "web")
	took = speech.runs(west, "train", 17)
	speech.Logf("17 of 24 cpus in the other namespace after %s", took.Round(time.Millisecond))
	speech.undeploy(west, "train")
	total()

	creates = vision.goesOn(north)
	vision.leaves()
	speech.leaves()
	removes()
	vision.deploy(east, "web", 17, "1")
	vision.runs(east, "web", 17)
	vision.undeploy(east, "web")
	creates()
	vision.finish()
	speech.finish()
}

// testPoolOfTwoHubs has two hub managers at once decide over a pool, whose teams want most of it in turn.
func testPoolOfTwoHubs(t *testing.T, w *world) {
	hard, all := budget("20", "60"), budget("24", "80")
	pool := newPool("of-two", all)
	removes := w.withPool(t, pool)
	vision, speech := newScenario(t, w, "two-vision", hard), newScenario(t, w, "two-speech", hard)
	for _, s := range []*scenario{vision, speech} {
		s.create(hard, following)
		s.enters(pool.Name)
	}
	total := vision.judged(pool.Name, all, speech)
	w.spareHub(t)
	vision.fault("two hub managers at once over a pool, 4 changes of who wants most of it")
	for range 2 {
		vision.deploy(east, "web", 17, "1")
		vision.runs(east, "web", 17)
		speech.deploy(west, "train", 17, "1")
		vision.undeploy(east, "web")
		speech.runs(west, "train", 17)
		speech.undeploy(west, "train")
	}
	total()
	vision.leaves()
	speech.leaves()
	removes()
	vision.finish()
	speech.finish()
}

// newPool returns a pool that all namespaces may be in.
func newPool(name string, hard corev1.ResourceList) *quotav1alpha1.QuotaPool {
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Hard, pool.Spec.AllowedNamespaces.Selector = hard, &metav1.LabelSelector{}
	return pool
}

// enters puts the FederatedQuota into a pool, and waits until it has a part of it.
func (s *scenario) enters(pool string) {
	s.Helper()
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(pool)}
	})
	s.fault("put into QuotaPool %s", pool)
	s.eventually("entering "+pool, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && (fq.Status.Pool == nil || fq.Status.Pool.Revision == 0 || string(fq.Status.Pool.Name) != pool) {
			err = fmt.Errorf("it is %+v", fq.Status.Pool)
		}
		return err
	})
}

// leaves takes the FederatedQuota out of its pool.
func (s *scenario) leaves() {
	s.Helper()
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Pool = nil })
	s.fault("taken out of its QuotaPool")
	s.eventually("leaving the pool", func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && fq.Status.Pool != nil && fq.Status.Pool.Name != "" {
			err = fmt.Errorf("it is %+v", fq.Status.Pool)
		}
		return err
	})
}

// withPool makes a pool, and returns what deletes it and waits until it is gone. That is done at the end of the test in
// any case: after the cleanup of scenarios that are begun later, since a pool outlives whoever is in it.
func (w *world) withPool(t *testing.T, pool *quotav1alpha1.QuotaPool) (removes func()) {
	t.Helper()
	if err := w.hub.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	removes = func() { w.removePool(t, pool) }
	t.Cleanup(removes)
	return removes
}

// removePool deletes a pool, and waits until it is gone.
func (w *world) removePool(t *testing.T, pool *quotav1alpha1.QuotaPool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := w.hub.Delete(ctx, pool); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	err := await(ctx, func(ctx context.Context) error {
		err := w.hub.Get(ctx, client.ObjectKeyFromObject(pool), pool)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w: %+v", err, pool.Status)
	})
	if err != nil {
		t.Errorf("deleting QuotaPool %s: %v", pool.Name, err)
	}
}

// atLeast waits until a ReplicaSet has so many pods.
func (s *scenario) atLeast(member, name string, count int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d pods of %s in %s", count, name, member), func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, member, name)
		if err == nil && len(pods) < count {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
}

// goesOn creates and deletes a small pod over and over, and returns what sees that each was let in.
func (s *scenario) goesOn(member string) (end func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	var count, refused atomic.Int64
	var last atomic.Value
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			pod := newPod(s.key.Namespace, fmt.Sprintf("goes-on-%d", i), "100m")
			err := s.member(member).Create(ctx, pod)
			switch {
			case err == nil:
				count.Add(1)
				err = s.member(member).Delete(ctx, pod)
			case apierrors.IsForbidden(err):
				refused.Add(1)
			}
			if err != nil && ctx.Err() == nil {
				last.Store(err.Error())
			}
			pause(ctx, 100*time.Millisecond)
		}
	})
	return func() {
		s.Helper()
		cancel()
		running.Wait()
		s.Logf("a client that goes on created %d pods, %d were refused", count.Load(), refused.Load())
		if count.Load() == 0 || refused.Load() > 0 {
			s.Errorf("of the pods of a client that goes on, %d were created and %d refused, last: %v", count.Load(), refused.Load(), last.Load())
		}
	}
}

// judged has an observer judge a pool, and the ledgers of it and of its FederatedQuotas: that what is in force below it is
// within its budget. It returns what sees that there was no violation.
func (s *scenario) judged(pool string, most corev1.ResourceList, others ...*scenario) (end func()) {
	s.Helper()
	level := observer.Level{Name: pool, Budget: most}
	options := observer.Options{
		Places: map[string]observer.Place{}, Hub: s.Hub.Config, Ledgers: []observer.Ledger{{Kind: "QuotaPool", Name: pool}},
		OnExcess: func(e observer.Excess) { s.Logf("EXCESS in the pool: %+v", e) },
	}
	for _, of := range append([]*scenario{s}, others...) {
		options.Ledgers = append(options.Ledgers, observer.Ledger{Kind: "FederatedQuota", Namespace: of.key.Namespace, Name: of.key.Name})
		for member, config := range s.watchers {
			place := of.key.Namespace + " in " + member
			options.Places[place] = observer.Place{Config: config, Namespace: of.key.Namespace, Name: of.key.Name}
			level.Places = append(level.Places, place)
		}
	}
	options.Levels = []observer.Level{level}
	o, err := observer.Watch(context.WithoutCancel(s.Context()), options)
	s.must(err)
	s.Cleanup(func() { o.Stop() })
	return func() {
		s.Helper()
		report := o.Stop()
		if err := report.WriteTable(s.Output()); err != nil {
			s.Error(err)
		}
		for _, violation := range report.Violations() {
			s.Error(violation)
		}
		record(levelsOf(s.Name(), report)...)
		for _, l := range report.Ledgers {
			if l.Versions < 2 {
				s.Errorf("of the ledger of %s %d versions were seen", l.Name, l.Versions)
			}
		}
	}
}
