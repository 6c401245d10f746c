package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/observer"
)

const (
	pollInterval = 25 * time.Millisecond
	// patience is how long anything may take that is bound to come.
	patience = 6 * time.Minute

	cpu  = corev1.ResourceRequestsCPU
	pods = corev1.ResourcePods

	quotaName = "compute"
)

// scenario is one FederatedQuota in a namespace of its own, watched by an observer until finish.
type scenario struct {
	*world
	*testing.T
	key      types.NamespacedName
	observer *observer.Observer
	began    time.Time
	// scopes and selector are those of the budget, and shape has the pods of the load match them.
	scopes   []corev1.ResourceQuotaScope
	selector *corev1.ScopeSelector
	shape    func(*corev1.Pod)

	storms    []*storm
	witnesses []witness
	result    result
}

// witness is a pod that has to outlive the scenario.
type witness struct {
	member, name string
	uid          types.UID
}

// amounts are limits of a resource, member by member.
type amounts map[corev1.ResourceName][]string

// newScenario makes the namespace on the hub, and starts the observer before there is a FederatedQuota.
func newScenario(t *testing.T, w *world, namespace string, hard corev1.ResourceList, mutate ...func(*scenario)) *scenario {
	t.Helper()
	s := &scenario{world: w, T: t, key: types.NamespacedName{Namespace: namespace, Name: quotaName}, began: time.Now(), shape: func(*corev1.Pod) {}}
	s.result.Scenario, s.result.Of, s.result.Members = t.Name(), namespace, len(w.Members)
	for _, m := range mutate {
		m(s)
	}
	s.must(client.IgnoreAlreadyExists(w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
	s.observe(hard)
	t.Cleanup(s.cleanup)
	return s
}

// observe starts an observer. The context of a test ends before its cleanups, and this one is stopped there at the
// latest.
func (s *scenario) observe(hard corev1.ResourceList) {
	s.Helper()
	o, err := observer.Watch(context.WithoutCancel(s.Context()), observer.Options{
		Members: s.watchers, Namespace: s.key.Namespace, Name: s.key.Name, Budget: hard, Scopes: s.scopes, ScopeSelector: s.selector,
		OnExcess: func(e observer.Excess) { s.Logf("EXCESS: %+v", e) },
	})
	s.must(err)
	s.observer = o
}

// observeAnew starts an observer under load, from an instant at which nothing is above the budget: of usage above a
// limit that it finds at its start, no observer can tell whether native quota let it in.
func (s *scenario) observeAnew(hard corev1.ResourceList) {
	s.Helper()
	s.eventually("an instant without an excess", func(context.Context) error {
		s.observe(hard)
		for _, resource := range s.observer.Report().Resources {
			if resource.Seen > 0 {
				s.observer.Stop()
				return fmt.Errorf("%s of %s", resource.Largest.String(), resource.Name)
			}
		}
		return nil
	})
}

// must ends the scenario if there is an error.
func (s *scenario) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
