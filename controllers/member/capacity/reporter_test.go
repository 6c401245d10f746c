package capacity

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/pace"
)

// storm is a cluster of many nodes that is looked at as often as the agent does.
type storm struct {
	*testing.T

	clock  *clocktesting.FakePassiveClock
	nodes  *capacity.Nodes
	report *Reporter
	writes int
}

const stormNodes = 1000

func newStorm(t *testing.T) *storm {
	scheme := runtime.NewScheme()
	if err := quotav1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &storm{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)), nodes: &capacity.Nodes{}}
	counted := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			s.writes++
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	s.report = &Reporter{Client: counted, Live: counted, Clock: s.clock, Nodes: s.nodes, Namespace: "fedquota-system"}
	for i := range stormNodes {
		s.set(i, true, true)
	}
	s.nodes.Complete()
	return s
}

func (s *storm) set(i int, ready, schedulable bool) {
	s.nodes.Set(capacity.Node{
		Name: fmt.Sprintf("node-%d", i), Ready: ready, Schedulable: schedulable,
		Allocatable: amount.List{corev1.ResourceCPU: 4000, corev1.ResourcePods: 110},
	}, s.clock.Now())
}

// over lets time pass second by second, and returns how many writes there were.
func (s *storm) over(duration time.Duration, each func(second int)) int {
	before := s.writes
	for second := range int(duration / time.Second) {
		each(second)
		if err := s.report.Report(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.clock.SetTime(s.clock.Now().Add(time.Second))
	}
	return s.writes - before
}

// TestFlappingNodes has 1,000 nodes cease to be ready and come back, which is told nobody, and counts what is written of
// nodes that do change.
func TestFlappingNodes(t *testing.T) {
	s := newStorm(t)
	if got := s.over(time.Minute, func(int) {}); got != 1 {
		t.Errorf("%d writes of nodes that are at rest, want the first alone", got)
	}
	flap := func(second int) { // each is away for 40 seconds of 50
		for i := range stormNodes {
			switch (second + i) % 50 {
			case 0:
				s.set(i, false, true)
			case 40:
				s.set(i, true, true)
			}
		}
	}
	if got := s.over(10*time.Minute, flap); got != 0 {
		t.Errorf("%d writes of nodes that flap for ten minutes, want none", got)
	}
	for i := range stormNodes {
		s.set(i, true, true)
	}
	drain := func(second int) { s.set(second, true, false) }
	if got, most := s.over(10*time.Minute, drain), int(10*time.Minute/pace.CapacityInterval); got > most || got < most/2 {
		t.Errorf("%d writes of nodes of which one is drained each second, want about %d", got, most)
	}
}

// TestReportOfSomebodyElse has a person change or delete what the agent has reported: it is there again within a minute,
// and nothing is written where nobody does.
func TestReportOfSomebodyElse(t *testing.T) {
	for name, tc := range map[string]struct {
		does   func(*storm, *quotav1alpha1.ClusterCapacity) error
		writes int
	}{
		"does nothing": {does: func(*storm, *quotav1alpha1.ClusterCapacity) error { return nil }},
		"deletes it":   {does: func(s *storm, c *quotav1alpha1.ClusterCapacity) error { return s.report.Delete(s.Context(), c) }, writes: 1},
		"says that there is more": {does: func(s *storm, c *quotav1alpha1.ClusterCapacity) error {
			c.Allocatable[corev1.ResourceCPU] = resource.MustParse("1M")
			return s.report.Update(s.Context(), c)
		}, writes: 1},
		"says that there are no nodes": {does: func(s *storm, c *quotav1alpha1.ClusterCapacity) error {
			c.Nodes = nil
			return s.report.Update(s.Context(), c)
		}, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStorm(t)
			s.over(10*time.Second, func(int) {})
			stored := func() *quotav1alpha1.ClusterCapacity {
				c := &quotav1alpha1.ClusterCapacity{}
				key := client.ObjectKey{Namespace: s.report.Namespace, Name: quotav1alpha1.CapacityName}
				if err := s.report.Get(t.Context(), key, c); err != nil {
					t.Fatal(err)
				}
				return c
			}
			before := stored()
			if err := tc.does(s, before.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			if got := s.over(2*pace.CapacityLookInterval, func(int) {}); got != tc.writes {
				t.Errorf("%d writes, want %d", got, tc.writes)
			}
			after := stored()
			if !equality.Semantic.DeepEqual(before.Nodes, after.Nodes) || !equality.Semantic.DeepEqual(before.Allocatable, after.Allocatable) {
				t.Errorf("it says %v of %v nodes, and said %v of %v", after.Allocatable, after.Nodes, before.Allocatable, before.Nodes)
			}
		})
	}
}
