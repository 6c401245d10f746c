//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const (
	// seedsVariable names the environment variable with the seeds to draw faults from, separated by commas. Without it
	// there is one, and a fresh one.
	seedsVariable = "FEDQUOTA_CHAOS_SEEDS"
	// durationVariable names the one that says for how long each.
	durationVariable = "FEDQUOTA_CHAOS_DURATION"
	chaosDuration    = 45 * time.Second
)

// testChaos draws faults and changes from seeds.
func testChaos(t *testing.T, w *world) {
	seeds, duration := []uint64{rand.Uint64N(1_000_000)}, chaosDuration
	if text := os.Getenv(seedsVariable); text != "" {
		seeds = nil
		for part := range strings.SplitSeq(text, ",") {
			seed, err := strconv.ParseUint(part, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", seedsVariable, err)
			}
			seeds = append(seeds, seed)
		}
	}
	if text := os.Getenv(durationVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", durationVariable, err)
		}
	}
	for n, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { testSeed(t, w, fmt.Sprintf("chaos-%d", n), seed, duration) })
	}
}

// testSeed has whatever a seed says happen at once, under load in all members, and sees that all is well once it is
// over.
func testSeed(t *testing.T, w *world, namespace string, seed uint64, duration time.Duration) {
	pool := newPool(namespace, budget("60", "120"))
	pool.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic
	w.withPool(t, pool)
	s := newScenario(t, w, namespace, budget("30", "60"))
	c := &chaos{scenario: s, seed: seed, duration: duration, writers: map[string]*storm{}, count: map[string]int{}}
	t.Logf("to have these faults again: %s=%d %s=%s", seedsVariable, seed, durationVariable, duration)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("what happened:\n" + strings.Join(c.events, "\n"))
		}
	})
	s.must(w.hub.Create(t.Context(), c.newQuota()))
	s.split(sample)
	s.witness(1, east, west) // a cluster leaves for good only when nothing is used there, and north may
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	s.must(w.Hub.Snapshot(t.Context(), snapshot))
	for _, member := range s.names() {
		s.deploy(member, "burst", 0, loadPod)
		s.storm(member)
		c.writers[member] = s.storms[len(s.storms)-1]
	}

	c.run(c.lanes(t, snapshot))
	s.fault("%s", c.summary())
	c.heal()
	c.eventually("all of the budget from the pool", c.given)
	s.split(sample)
	for _, member := range s.names() {
		c.counted(member)
	}
	s.change(following)
	for _, member := range s.names() {
		s.fits(member)
	}
	s.finish()
}

// newQuota returns the FederatedQuota as it is at first: in a pool that has more than it.
func (c *chaos) newQuota() *quotav1alpha1.FederatedQuota {
	fq := newQuota(c.key, budget("30", "60"))
	fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(c.key.Namespace)}
	return fq
}

// given says whether the pool gives less than all of the budget.
func (c *chaos) given(ctx context.Context) error {
	fq, err := c.federatedQuota(ctx)
	if err == nil && !quotav1.Equals(fq.Status.Hard, fq.Spec.Hard) {
		err = fmt.Errorf("it is %s of %s", text(fq.Status.Hard), text(fq.Spec.Hard))
	}
	return err
}

// heal puts back what administrators have changed, as far as that is not undone yet, and ends the load.
func (c *chaos) heal() {
	c.Helper()
	for _, member := range c.names() {
		c.eventually("the labels of "+member, func(ctx context.Context) error {
			if err := c.setLabel(ctx, member, gradeLabel, "none"); err != nil {
				return err
			}
			return c.relabel(ctx, member, "prod")
		})
		c.eventually("the glass in "+member+" to be mended", func(ctx context.Context) error { return c.breakGlass(ctx, member, "null") })
		c.eventually("no bursts in "+member, func(ctx context.Context) error { return c.tryScale(ctx, member, "burst", 0) })
		c.undeploy(member, "burst")
	}
	c.endStorms()
	c.eventually("the spec to be as before", func(ctx context.Context) error {
		return c.tryChange(ctx, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec = c.newQuota().Spec })
	})
}

// counted waits until the quota controller of a member, which may just have been started, takes note of a pod that is
// deleted. What it misses is counted on for minutes, until it counts everything anew.
func (c *chaos) counted(member string) {
	c.Helper()
	want := 0
	for _, w := range c.witnesses {
		if w.member == member {
			want++
		}
	}
	c.eventually("deletions to be counted in "+member, func(ctx context.Context) error {
		pod := newPod(c.key.Namespace, fmt.Sprintf("probe-%d", rand.Int32()), "10m")
		if err := errors.Join(c.member(member).Create(ctx, pod), c.member(member).Delete(ctx, pod)); err != nil {
			return err
		}
		pause(ctx, time.Second)
		quota, err := c.quota(ctx, member)
		if used := quota.Status.Used[pods]; err == nil && used.CmpInt64(int64(want)) != 0 {
			err = fmt.Errorf("%s pods are counted, and there are %d", used.String(), want)
		}
		return err
	})
}

// fits sees that a request for all that nobody uses is admitted in a member.
func (s *scenario) fits(member string) {
	s.Helper()
	free := resource.NewMilliQuantity(30_000-100*int64(len(s.witnesses)), resource.DecimalSI)
	pod := newPod(s.key.Namespace, "the-rest", free.String())
	start := time.Now()
	s.eventually("a request for all that is free, in "+member, func(ctx context.Context) error {
		return s.member(member).Create(ctx, pod.DeepCopy())
	})
	s.Logf("a pod of %s, all that is free, was created in %s after %s", free, member, time.Since(start).Round(time.Millisecond))
	s.must(s.member(member).Delete(s.Context(), pod))
}

// breakGlass sets the reason for which others may change the ResourceQuota of a member, as JSON; null takes it away.
func (s *scenario) breakGlass(ctx context.Context, member, reason string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, quotav1alpha1.BreakGlassAnnotation, reason)
	return s.member(member).Patch(ctx, s.named(), client.RawPatch(types.MergePatchType, patch))
}

// named is the ResourceQuota of a member by its name.
func (s *scenario) named() *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
}
