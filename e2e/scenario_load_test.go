//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// testStorm moves limits back and forth while all members, one of them with two API servers, are written at full speed.
func testStorm(t *testing.T, w *world) {
	s := newScenario(t, w, "storm", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(2)
	s.storm()
	for n := range 12 {
		s.turn(n)
		s.progress()
	}
	s.turn(0)
	s.endStorms() // in the middle of a move
	s.split(sample)
	s.storm()
	s.finish()

	const turns = 6
	total := s.requests() / 2
	native := s.plain("native", budget("30", "60"))
	native.storm()
	native.answered(total)
	s.result.NativeAlone = native.judge()
	naive := s.plain("naive", budget("30", "60"))
	naive.storm()
	for n := range int64(turns) {
		naive.writeAll(naive.hard, splits[(n+1)%int64(len(splits))])
		naive.answered(total * (n + 1) / turns)
	}
	s.result.Naive = naive.judge()
}

// progress waits until the members, all of them if none is named, confirm the revision of their entry: under load a
// limit may stay above its target, but nobody waits.
func (s *scenario) progress(members ...string) {
	s.Helper()
	s.eventually("confirmations", func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		return s.confirmed(ctx, fq, members)
	})
}

// confirmed says which of the members, all of them if none is named, do not confirm the revision of their entry.
func (s *scenario) confirmed(ctx context.Context, fq *quotav1alpha1.FederatedQuota, members []string) error {
	if fq.Status.ObservedGeneration != fq.Generation {
		return fmt.Errorf("generation %d is not observed", fq.Generation)
	}
	for _, c := range fq.Status.Clusters {
		if len(members) > 0 && !slices.Contains(members, string(c.Name)) {
			continue
		}
		share := &quotav1alpha1.QuotaShare{}
		if err := s.member(string(c.Name)).Get(ctx, s.key, share); err != nil {
			return err
		}
		if c.Revision == 0 || share.Status.Revision < c.Revision {
			return fmt.Errorf("cluster %s confirms revision %d of %d", c.Name, share.Status.Revision, c.Revision)
		}
	}
	return nil
}

// testCut cuts the budget below what is used. Nothing is evicted, nothing more is admitted, and limits follow usage
// down.
func testCut(t *testing.T, w *world) {
	s := newScenario(t, w, "cut", ported(budget("30", "60"), "6"))
	s.create(ported(budget("30", "60"), "6"))
	s.split(sample)
	s.witness(1)
	s.eventually("the hub to tell of itself", func(ctx context.Context) error {
		return s.event(ctx, s.hub, s.key.Namespace, "FederatedQuota", quotav1alpha1.ReasonEnforced)
	})
	s.eventually("the agent to tell of itself", func(ctx context.Context) error {
		return s.event(ctx, s.member(west), s.key.Namespace, "QuotaShare", quotav1alpha1.ReasonEnforced)
	})
	used := map[string]int{east: 10, west: 8, north: 4}
	for member, count := range used {
		s.fill(member, "first", count/2, "1")
		s.fill(member, "second", count/2, "1")
		s.must(s.member(member).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "outside"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
		}))
		s.recounted(member, ported(budget(fmt.Sprintf("%d100m", count), fmt.Sprint(count+1)), "1"))
	}
	s.fault("budget cut from 30 to 12 cpu with 22.3 used, and from 6 to 0 node ports with 3 used")
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = ported(budget("12", "60"), "0") })
	s.condition(quotav1alpha1.ConditionDebt, "10300m of requests.cpu")
	s.condition(quotav1alpha1.ConditionDraining, east, west, north)
	s.eventually("limits of what is used", func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"10100m", "8100m", "4100m"}, corev1.ResourceServicesNodePorts: {"1", "1", "1"}})
	})
	s.eventually("the hub to tell of the drain", func(ctx context.Context) error {
		return s.event(ctx, s.hub, s.key.Namespace, "FederatedQuota", quotav1alpha1.ReasonUsageAboveTarget)
	})
	s.lowerCeiling()
	s.recount()
	for member := range used {
		if err := s.member(member).Create(s.Context(), newPod(s.key.Namespace, "more", "100m")); !apierrors.IsForbidden(err) {
			s.Errorf("a pod more in %s: got %v, want Forbidden", member, err)
		}
		s.unhurt(member)
	}
	s.eventually("the limit of node ports to follow", func(ctx context.Context) error {
		return s.limits(ctx, amounts{corev1.ResourceServicesNodePorts: {"0", "0", "0"}})
	})
	for member := range used {
		s.drain(member, "first")
	}
	s.eventually("limits to follow usage down", func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"6", "4100m", "2100m"}})
	})
	for member := range used {
		s.drain(member, "second")
	}
	s.split(amounts{cpu: {"6", "4", "2"}})
	s.noCondition(quotav1alpha1.ConditionDebt)
	s.cutUnderLoad()
	s.finish()

	native := s.plain("native", budget("30", "60"))
	native.storm()
	native.answered(fillingUp)
	before := native.requests()
	native.must(native.observer.ChangeBudget(t.Context(), budget("12", "24"), func(context.Context) error {
		native.writeAll(budget("12", "24"), splits[0])
		return nil
	}))
	native.answered(before + s.result.Load.Created + s.result.Load.Refused - fillingUp)
	s.result.NativeAlone = native.judge()
}

// ported adds node ports to a budget.
func ported(budget corev1.ResourceList, count string) corev1.ResourceList {
	budget[corev1.ResourceServicesNodePorts] = resource.MustParse(count)
	return budget
}

// unhurt changes what there is in a member whose limit is what it uses, asks for less, and is refused neither.
func (s *scenario) unhurt(member string) {
	s.Helper()
	c, meta := s.member(member), metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "first-0"}
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"color":"blue"}}}`))
	if err := c.Patch(s.Context(), &corev1.Pod{ObjectMeta: meta}, label); err != nil {
		s.Errorf("labelling a pod in %s: %v", member, err)
	}
	if s.resizes(member) {
		smaller := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]}}`))
		if err := c.SubResource("resize").Patch(s.Context(), &corev1.Pod{ObjectMeta: meta}, smaller); err != nil {
			s.Errorf("making a pod smaller in %s: %v", member, err)
		}
	}
	meta.Name = "outside"
	inside := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"type":"ClusterIP"}}`))
	if err := c.Patch(s.Context(), &corev1.Service{ObjectMeta: meta}, inside); err != nil {
		s.Errorf("giving up a node port in %s: %v", member, err)
	}
}

// resizes says whether a member serves the resize of pods, as Kubernetes does from 1.33 on.
func (s *scenario) resizes(member string) bool {
	s.Helper()
	c, err := discovery.NewDiscoveryClientForConfig(s.Member(member).Config)
	s.must(err)
	served, err := c.ServerResourcesForGroupVersion("v1")
	s.must(err)
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" })
}

// fillingUp is how many requests the load needs to fill all members for certain.
const fillingUp = 300

// cutUnderLoad cuts the budget while all members are full and are written at full speed: all that is deleted is gone
// for good, and the limits come down to their targets while the load goes on.
func (s *scenario) cutUnderLoad() {
	s.Helper()
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("30", "60") })
	s.split(sample)
	s.storm()
	s.eventually("the load to fill all members", func(context.Context) error {
		if done := s.requests(); done < fillingUp {
			return fmt.Errorf("%d requests were answered", done)
		}
		return nil
	})
	cut := time.Now()
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("12", "24") })
	s.eventually("limits to come down under load", func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"6", "4", "2"}, pods: {"12", "8", "4"}})
	})
	s.fault("budget cut from 30 to 12 cpu under load, which was in force after %.1f s", time.Since(cut).Seconds())
	s.lowerCeiling()
	s.endStorms()
	s.split(amounts{cpu: {"6", "4", "2"}, pods: {"12", "8", "4"}})
}
