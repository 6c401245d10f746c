//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/census"
)

// scoped makes the budget of a scenario one of scopes, beside others in its namespace.
func scoped(name string, scopes []corev1.ResourceQuotaScope, selector *corev1.ScopeSelector, shape func(*corev1.Pod)) func(*scenario) {
	return func(s *scenario) {
		s.key.Name, s.scopes, s.selector, s.shape = name, scopes, selector, shape
		s.result.Scenario += ": " + name
	}
}

// testScopes moves the limits of three budgets of one namespace back and forth under a storm: one of pods that end, one
// of pods that do not, and one of urgent pods, which each need room in that and in one of the others. Pods that do not
// end are given an end meanwhile, and go from one budget to another. In the end each budget follows its own pods.
func testScopes(t *testing.T, w *world) {
	const namespace, class = "scopes", "urgent"
	for _, member := range w.names() {
		urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: 1}
		if err := client.IgnoreAlreadyExists(w.member(member).Create(t.Context(), urgent)); err != nil {
			t.Fatal(err)
		}
	}
	long := newScenario(t, w, namespace, budget("30", "60"), scoped("long", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}, nil,
		func(pod *corev1.Pod) {
			if rand.IntN(2) == 0 {
				pod.Spec.PriorityClassName = class
			}
		}))
	short := newScenario(t, w, namespace, budget("12", "24"), scoped("short", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}, nil,
		func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = new(int64(3600)) }))
	urgent := newScenario(t, w, namespace, budget("12", "24"), scoped("urgent", nil, &corev1.ScopeSelector{
		MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{class},
		}},
	}, func(*corev1.Pod) {}))
	all := []*scenario{long, short, urgent}
	each := func(do func(*scenario)) {
		for _, s := range all {
			do(s)
		}
	}
	long.create(budget("30", "60"))
	short.create(budget("12", "24"))
	urgent.create(budget("12", "24"))
	each((*scenario).settle)
	long.witness(1)

	long.storm()
	short.storm()
	ended := long.givesEnds()
	for n := range 6 {
		each(func(s *scenario) { s.turn(n) })
		each(func(s *scenario) { s.progress() })
	}
	each(func(s *scenario) { s.turn(0) })
	long.fault("%d pods given an end", ended())
	each((*scenario).stopStorms)
	each((*scenario).counted)
	each((*scenario).recount)
	long.endStorms()

	each(func(s *scenario) {
		s.change(following)
		s.settle()
	})
	long.storm(east)
	short.storm(west)
	long.borrows(east)
	short.borrows(west)
	each((*scenario).stopStorms)
	each((*scenario).counted)
	each((*scenario).recount)
	each(func(s *scenario) { s.finish() })

	var native []*plain
	each(func(s *scenario) { native = append(native, s.plain("native", budget("12", "24"))) })
	native[0].storm()
	native[1].storm()
	native[0].answered(long.requests() / 2)
	for i := range native {
		native[i].stopStorms()
	}
	for i, s := range all {
		s.result.NativeAlone = native[i].judge()
	}
}

// givesEnds gives pods of the load an end, one after the other, until the returned function is called, which says how
// many there were.
func (s *scenario) givesEnds() (ended func() int) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan int)
	go func() {
		count := 0
		for ctx.Err() == nil {
			for _, member := range s.names() {
				count += s.giveEnds(ctx, member)
			}
			pause(ctx, 100*time.Millisecond)
		}
		done <- count
	}()
	return func() int {
		cancel()
		return <-done
	}
}

// giveEnds gives the pods of the load that there are in a member an end, and says how many that were. Quota may refuse
// it, and the writers may be faster.
func (s *scenario) giveEnds(ctx context.Context, member string) (count int) {
	var list corev1.PodList
	if s.member(member).List(ctx, &list, client.InNamespace(s.key.Namespace), client.MatchingLabels{loadLabel: "true"}) != nil {
		return 0
	}
	for i := range list.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"activeDeadlineSeconds":3600}}`))
		if list.Items[i].Spec.ActiveDeadlineSeconds == nil && s.member(member).Patch(ctx, &list.Items[i], patch) == nil {
			count++
		}
	}
	return count
}

// counted waits until native quota has charged what exists, object by object.
func (s *scenario) counted() {
	s.Helper()
	s.eventually("native quota to count what exists", func(ctx context.Context) error {
		recount, err := census.Of(ctx, s.observer)
		if err != nil {
			return err
		}
		for _, res := range recount.Resources {
			if res.Exists.Cmp(res.Recorded) != 0 {
				pause(ctx, time.Second)
				return fmt.Errorf("%s of %s exist, and %s are charged", res.Exists.String(), res.Name, res.Recorded.String())
			}
		}
		return nil
	})
}

// borrows waits until the limit of a member has grown beyond its part.
func (s *scenario) borrows(member string) {
	s.Helper()
	s.eventually(member+" to borrow for "+s.key.Name, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		most := fq.Spec.Hard[pods]
		for _, c := range fq.Status.Clusters {
			granted := c.Granted[pods]
			if c.Name == quotav1alpha1.ClusterName(member) && 10*granted.Value() < 9*most.Value() {
				return fmt.Errorf("%s of %s", granted.String(), most.String())
			}
		}
		return nil
	})
}
