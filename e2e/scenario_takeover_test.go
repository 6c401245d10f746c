//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// testTakeOver has a budget take over ResourceQuotas of its name: first not, as it is not asked to, then in place. Those
// of east and west are idle and in use, north has none.
func testTakeOver(t *testing.T, w *world) {
	s := newScenario(t, w, "takeover", budget("30", "60"))
	limits := map[string]corev1.ResourceList{east: budget("15", "30"), west: budget("12", "20")}
	seen := map[string]watch.Interface{}
	for member, hard := range limits {
		s.namespaceIn(member)
		s.must(s.member(member).Create(s.Context(), &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
		}))
		s.used(member, cpu, "0")
		events, err := s.members[member][0].Watch(s.Context(), &corev1.ResourceQuotaList{}, client.InNamespace(s.key.Namespace))
		s.must(err)
		defer events.Stop()
		seen[member] = events
	}
	s.fill(west, "old", 8, "1")
	s.create(budget("30", "60"))
	s.condition(quotav1alpha1.ConditionMemberNotReady, east, west, "whenToTakeOver")
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverIfNoDiff
	})
	s.condition(quotav1alpha1.ConditionMemberNotReady, west, "requests.cpu is 12 and would be 10")
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	})
	s.split(sample)
	for member, events := range seen {
		s.neverBelow(member, events)
	}
	s.drain(west, "old")
	s.finish()
}

// neverBelow sees that the ResourceQuota of a member was one and the same until it was taken over, and its limit never
// below what the share gives.
func (s *scenario) neverBelow(member string, events watch.Interface) {
	s.Helper()
	var last *corev1.ResourceQuota
	s.eventually("the last version in "+member, func(context.Context) error {
		for {
			select {
			case event := <-events.ResultChan():
				quota, ok := event.Object.(*corev1.ResourceQuota)
				if !ok || event.Type == watch.Deleted || last != nil && last.UID != quota.UID {
					s.Fatalf("%s: %s of %T", member, event.Type, event.Object)
				}
				for name, parts := range sample {
					limit, least := quota.Spec.Hard[name], resource.MustParse(parts[slices.Index(s.names(), member)])
					if limit.Cmp(least) < 0 {
						s.Errorf("%s: %s is %s, less than %s", member, name, limit.String(), least.String())
					}
				}
				if last = quota; nativequota.IsManaged(quota) {
					return nil
				}
			default:
				return errors.New("it was not taken over")
			}
		}
	})
}
