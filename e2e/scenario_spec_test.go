//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/observer/report"
)

type clusterNames = []quotav1alpha1.ClusterName

// testBounds moves limits by min, max and placement, under load.
func testBounds(t *testing.T, w *world) {
	s := newScenario(t, w, "bounds", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm(west)
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = append(weights(3, 2, 1), quotav1alpha1.DistributionRule{
			Clusters:  clusterNames{north},
			RuleTerms: quotav1alpha1.RuleTerms{Min: corev1.ResourceList{cpu: resource.MustParse("12")}},
		})
	})
	s.endStorms()
	s.split(amounts{cpu: {"10800m", "7200m", "12"}, pods: {"30", "20", "10"}})
	s.storm(east)
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = append(weights(3, 2, 1), quotav1alpha1.DistributionRule{
			Clusters:  clusterNames{east},
			RuleTerms: quotav1alpha1.RuleTerms{Max: corev1.ResourceList{cpu: resource.MustParse("3"), pods: resource.MustParse("6")}},
		})
	})
	s.endStorms()
	s.split(amounts{cpu: {"3", "18", "9"}, pods: {"6", "36", "18"}})
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = weights(3, 2, 1)
		fq.Spec.Reserve = budget("6", "12")
	})
	s.split(amounts{cpu: {"12", "8", "4"}, pods: {"24", "16", "8"}})
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Reserve = nil })
	s.split(sample)
	s.finish()
}

// testBadInput creates what cannot be acted on. Each gets an answer that says what is wrong; nothing spins; others go
// on.
func testBadInput(t *testing.T, w *world) {
	s := newScenario(t, w, "good", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	hard := func(name, value string) func(*quotav1alpha1.FederatedQuota) {
		return func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Hard = corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(value)}
		}
	}
	cases := []struct {
		name   string
		mutate func(*quotav1alpha1.FederatedQuota)
		want   []string
	}{
		{"negative", hard("pods", "-1"), []string{"spec.hard", "pods", "-1"}},
		{"fraction", hard("pods", "1500m"), []string{"spec.hard[pods]", "1500m", "whole"}},
		{"overflow", hard(cpuName, "1E"), []string{"spec.hard[requests.cpu]", "1E"}},
		{"gpu", hard("nvidia.com/gpu", "8"), []string{"spec.hard", "nvidia.com/gpu", "requests.nvidia.com/gpu"}},
		{"typo", hard("count/deploymnets", "8"), []string{"spec.hard", "count/deploymnets", "count/deployments.apps"}},
		{"min-above-max", func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Distribution.Rules[1].Min, fq.Spec.Distribution.Rules[1].Max = budget("9", "9"), budget("3", "9")
		}, []string{"spec.distribution.rules[1]", "min", cpuName, "9", "3"}},
		{"min-of-clusters", func(fq *quotav1alpha1.FederatedQuota) {
			for i := range fq.Spec.Distribution.Rules {
				fq.Spec.Distribution.Rules[i].Min = budget("11", "1")
			}
		}, []string{"min", cpuName, "33", "30", east, west, north}},
		{"min-of-stranger", func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Distribution.Rules[0].Min = corev1.ResourceList{"requests.memory": resource.MustParse("1Gi")}
		}, []string{"spec.distribution.rules[0].min", "requests.memory"}},
		{"reserve", func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Reserve = budget("31", "1") }, []string{"spec.reserve[requests.cpu]", "30"}},
		{"empty-placement", func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Placement = quotav1alpha1.Placement{CreateNamespace: new(true)}
		},
			[]string{"placement", "clusterSelector", "clusters"}},
		{"selects-nothing", func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Placement.ClusterSelector.MatchLabels = map[string]string{"no": "such"}
		}, []string{"selects no Cluster", "spec.placement"}},
		{"scopes", func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Scopes = []corev1.ResourceQuotaScope{"Terminating", "NotTerminating"}
		}, []string{"spec.scopes", "Terminating"}},
		{"destroyed-and-selected", func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Destroyed = clusterNames{east} },
			[]string{"spec.removal.destroyed[0]", east}},
	}
	for _, c := range cases {
		kind := quotav1alpha1.ConditionStalled
		if c.name == "selects-nothing" { // Clusters may come
			kind = quotav1alpha1.ConditionReconciling
		}
		s.rejected("bad-"+c.name, kind, c.mutate, c.want)
	}
	s.calm(len(cases))
	s.turn(1)
	s.split(amounts{cpu: {"5", "15", "10"}, pods: {"10", "30", "20"}})
	s.badUpdate()
	s.finish()
}

const cpuName = string(cpu)

// rejected creates a FederatedQuota, and finds all parts of the answer in the error, or in Ready and another condition.
func (s *scenario) rejected(namespace, kind string, mutate func(*quotav1alpha1.FederatedQuota), want []string) {
	s.Helper()
	key := types.NamespacedName{Namespace: namespace, Name: quotaName}
	s.must(client.IgnoreAlreadyExists(s.hub.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
	fq := newQuota(key, budget("30", "60"))
	mutate(fq)
	if err := s.hub.Create(s.Context(), fq); err != nil {
		if !apierrors.IsInvalid(err) || !containsAll(err.Error(), want) {
			s.Errorf("%s: got %v, want an error with all of %q", namespace, err, want)
		}
		return
	}
	s.Cleanup(func() {
		if err := s.hub.Delete(context.Background(), fq); err != nil {
			s.Error(err)
		}
	})
	err := await(s.Context(), func(ctx context.Context) error {
		if err := s.hub.Get(ctx, key, fq); err != nil {
			return err
		}
		for _, kind := range []string{quotav1alpha1.ConditionReady, kind} {
			if err := hasCondition(fq, kind, want...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Errorf("%s: %v", namespace, err)
	}
}

// calm sees that the hub manager leaves alone what it cannot act on.
func (s *scenario) calm(quotas int) {
	s.Helper()
	const window = 4 * time.Second
	count := func() int { return requests(s.Context(), s.T, s.Hub, `resource="federatedquotas"`) }
	s.settle()
	began, before := time.Now(), count()
	pause(s.Context(), window)
	made, took := count()-before, time.Since(began)
	// Whatever there is, the watchdog asks twice each second, and who renews the Leases once each 5 s.
	looks := 2*(int(took/time.Second)+1) + int(took/(5*time.Second)) + 1
	if most := looks + int(int64(quotas)*int64(took)/int64(window)); made > most {
		s.Errorf("%d requests in %s for %d FederatedQuotas that nobody touched, want at most %d", made, took, quotas, most)
	}
	s.Logf("%d requests in %s for %d FederatedQuotas that cannot be acted on", made, took.Round(time.Millisecond), quotas)
}

// badUpdate makes a good spec bad: the split stays as it is until the spec is good again.
func (s *scenario) badUpdate() {
	s.Helper()
	before := s.revisions()
	bad := func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules[0].Min, fq.Spec.Distribution.Rules[0].Max = budget("9", "9"), budget("3", "3")
	}
	fq, err := s.federatedQuota(s.Context())
	s.must(err)
	bad(fq)
	if err := s.hub.Update(s.Context(), fq); !apierrors.IsInvalid(err) {
		s.Errorf("a bad spec is not refused: %v", err)
	}
	s.withoutWebhook()
	s.change(bad)
	s.condition(quotav1alpha1.ConditionStalled, "spec.distribution.rules[0]")
	if after := s.revisions(); after != before {
		s.Errorf("a bad spec moved limits: %s, was %s", after, before)
	}
	s.turn(0)
	s.split(sample)
}

// withoutWebhook has the hub's API server ask nobody about FederatedQuotas, until the scenario ends.
func (s *scenario) withoutWebhook() {
	s.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-hub"}}
	s.must(s.hub.Delete(s.Context(), configuration))
	s.Cleanup(func() {
		configuration.ResourceVersion = ""
		if err := s.hub.Create(context.Background(), configuration); err != nil {
			s.Error(err)
		}
	})
	probe := newQuota(types.NamespacedName{Namespace: s.key.Namespace, Name: "probe"}, corev1.ResourceList{"foo": resource.MustParse("1")})
	s.eventually("the webhook to be out of the way", func(ctx context.Context) error {
		return s.hub.Create(ctx, probe.DeepCopy(), client.DryRunAll)
	})
}

// revisions are those in force in all members.
func (s *scenario) revisions() string {
	s.Helper()
	var all string
	for _, member := range s.names() {
		quota, err := s.quota(s.Context(), member)
		s.must(err)
		all += member + "=" + quota.Annotations[quotav1alpha1.RevisionAnnotation] + " "
	}
	return all
}

// testUnknown names clusters that do not exist, and a resource that no member knows.
func testUnknown(t *testing.T, w *world) {
	s := newScenario(t, w, "unknown", budget("30", "60"))
	s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Placement.Clusters = clusterNames{"esat"}
		fq.Spec.Distribution.Rules = append(fq.Spec.Distribution.Rules, quotav1alpha1.DistributionRule{Clusters: clusterNames{"wset"}, RuleTerms: quotav1alpha1.RuleTerms{Weight: new(int32(5))}})
	})
	s.condition(quotav1alpha1.ConditionUnknownCluster, "spec.placement.clusters: esat", "spec.distribution.rules[3].clusters: wset")
	s.eventually("the others", func(ctx context.Context) error { return s.limits(ctx, sample) })
	s.witness(1)

	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Placement.Clusters = nil
		fq.Spec.Distribution.Rules = weights(3, 2, 1)
		fq.Spec.Hard["count/widgets.example.com"] = resource.MustParse("6")
	})
	s.condition(quotav1alpha1.ConditionKindNotServed, east, west, north, "count/widgets.example.com")
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(1, 2, 3) })
	s.eventually("the other names to move", func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"5", "10", "15"}, pods: {"10", "20", "30"}})
	})
	s.condition(quotav1alpha1.ConditionReady, "Every cluster enforces")
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		delete(fq.Spec.Hard, "count/widgets.example.com")
		fq.Spec.Distribution.Rules = weights(2, 1, 3)
	})
	s.split(amounts{cpu: {"10", "5", "15"}, pods: {"20", "10", "30"}})
	s.noCondition(quotav1alpha1.ConditionKindNotServed)
	s.finish()
}

// testConflict has two FederatedQuotas over the same scope: the older one goes on, and when it is gone the other takes
// over.
func testConflict(t *testing.T, w *world) {
	s := newScenario(t, w, "conflict", budget("30", "60"))
	s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Policy = quotav1alpha1.RemovalDelete })
	s.split(sample)
	s.witness(1)
	second := newQuota(types.NamespacedName{Namespace: s.key.Namespace, Name: "second"}, budget("6", "6"))
	second.Spec.Removal.Policy = quotav1alpha1.RemovalDelete
	if err := s.hub.Create(s.Context(), second.DeepCopy()); !apierrors.IsInvalid(err) || !containsAll(err.Error(), []string{s.key.String(), "merge spec.hard"}) {
		s.Errorf("a second budget of the same scope is not refused: %v", err)
	}
	s.withoutWebhook()
	// The creation time of an object has a resolution of a second; the older one is to be the first by time, not by name.
	s.must(s.hub.Create(s.Context(), second))
	secondIs := func(kind string, parts ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := s.hub.Get(ctx, client.ObjectKeyFromObject(second), second); err != nil {
				return err
			}
			return hasCondition(second, kind, parts...)
		}
	}
	s.eventually("conflict", secondIs(quotav1alpha1.ConditionStalled, s.key.String(), "merge spec.hard", east, west, north))
	s.turn(1)
	s.split(amounts{cpu: {"5", "15", "10"}})
	for _, member := range s.names() {
		err := s.member(member).Get(s.Context(), client.ObjectKeyFromObject(second), &corev1.ResourceQuota{})
		if !apierrors.IsNotFound(err) {
			s.Errorf("the second quota has reached %s: %v", member, err)
		}
	}
	s.endStorms()
	s.judge()

	fq, err := s.federatedQuota(s.Context())
	s.must(err)
	s.must(s.hub.Delete(s.Context(), fq))
	first := s.key
	s.key = client.ObjectKeyFromObject(second)
	s.observe(budget("6", "6"))
	s.split(amounts{cpu: {"3", "2", "1"}})
	s.finish()
	s.must(s.hub.Delete(s.Context(), second))
	s.key = first
}

// testRemoval deletes the FederatedQuota: members keep a limit of what is used, or none, as they were told.
func testRemoval(t *testing.T, w *world) {
	for _, policy := range []quotav1alpha1.RemovalPolicy{quotav1alpha1.RemovalRetain, quotav1alpha1.RemovalDelete} {
		t.Run(string(policy), func(t *testing.T) {
			s := newScenario(t, w, "removal-"+map[quotav1alpha1.RemovalPolicy]string{"Retain": "retain", "Delete": "delete"}[policy], budget("30", "60"))
			s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Policy = policy })
			s.split(sample)
			s.witness(2)
			for _, member := range s.names() {
				s.recounted(member, budget("200m", "2"))
			}
			s.judge()
			fq, err := s.federatedQuota(s.Context())
			s.must(err)
			s.must(s.hub.Delete(s.Context(), fq))
			s.eventually("removal", func(ctx context.Context) error {
				if _, err := s.federatedQuota(ctx); !apierrors.IsNotFound(err) {
					return fmt.Errorf("it is still there: %w", err)
				}
				return nil
			})
			for _, member := range s.names() {
				s.released(member, policy)
			}
			s.untouched()
		})
	}
}

// released sees what a removal has left in a member.
func (s *scenario) released(member string, policy quotav1alpha1.RemovalPolicy) {
	s.Helper()
	if err := s.member(member).Get(s.Context(), s.key, &quotav1alpha1.QuotaShare{}); !apierrors.IsNotFound(err) {
		s.Errorf("the share in %s is still there: %v", member, err)
	}
	quota, err := s.quota(s.Context(), member)
	if policy == quotav1alpha1.RemovalDelete {
		if !apierrors.IsNotFound(err) {
			s.Errorf("the ResourceQuota in %s is still there: %v", member, err)
		}
		return
	}
	s.must(err)
	if _, managed := quota.Labels[quotav1alpha1.ManagedLabel]; managed {
		s.Errorf("the ResourceQuota in %s is still managed", member)
	}
	if got := text(quota.Spec.Hard); got != "{pods=2 requests.cpu=200m}" {
		s.Errorf("the ResourceQuota in %s is left with %s, want what is used", member, got)
	}
}

// testReselect takes a cluster out of the placement and puts it back, empty and while it is still in use, under load in
// the others, which takes at once what they are given.
func testReselect(t *testing.T, w *world) {
	for _, policy := range []quotav1alpha1.RemovalPolicy{quotav1alpha1.RemovalDelete, quotav1alpha1.RemovalRetain} {
		t.Run(string(policy), func(t *testing.T) {
			s := newScenario(t, w, "reselect-"+map[quotav1alpha1.RemovalPolicy]string{"Retain": "retain", "Delete": "delete"}[policy], budget("30", "60"))
			s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Policy = policy })
			s.split(sample)
			s.witness(1)
			s.fill(west, "work", 4, "1")
			s.attest(west, "work")
			s.recounted(west, budget("4100m", "5"))
			s.storm(east, north)

			s.fault("west deselected and selected again, in use and empty")
			s.label(west, "test")
			s.Cleanup(func() { _ = s.relabel(context.Background(), west, "prod") })
			s.eventually("west to leave with what it uses", func(ctx context.Context) error {
				return s.limits(ctx, amounts{cpu: {"", "4100m", ""}})
			})
			s.eventually("the others to get the rest", func(ctx context.Context) error {
				fq, err := s.federatedQuota(ctx)
				if granted := fq.Status.Granted[cpu]; err == nil && granted.String() != "30" {
					err = fmt.Errorf("%s is granted", granted.String())
				}
				return err
			})
			s.label(west, "prod")
			s.eventually("west to be back", func(ctx context.Context) error { return s.limits(ctx, sample) })
			s.split(sample)

			s.label(west, "test")
			s.dismiss(west)
			s.eventually("west to be gone", func(ctx context.Context) error {
				fq, err := s.federatedQuota(ctx)
				if err == nil && len(fq.Status.Clusters) != 2 {
					err = fmt.Errorf("%d clusters are left", len(fq.Status.Clusters))
				}
				return errors.Join(err, s.limits(ctx, amounts{cpu: {"22500m", "", "7500m"}}))
			})
			s.split(amounts{cpu: {"22500m", "", "7500m"}})
			s.label(west, "prod")
			s.eventually("west to be back", func(ctx context.Context) error { return s.limits(ctx, sample) })
			s.split(sample)
			if policy == quotav1alpha1.RemovalDelete {
				s.finish(report.Recreated)
			} else {
				s.finish()
			}
		})
	}
}

// label changes the tier of a Cluster.
func (s *scenario) label(cluster, tier string) {
	s.Helper()
	s.must(s.relabel(s.Context(), cluster, tier))
}

func (s *scenario) relabel(ctx context.Context, cluster, tier string) error {
	return s.setLabel(ctx, cluster, tierLabel, tier)
}

func (s *scenario) setLabel(ctx context.Context, cluster, label, value string) error {
	object := &clusterv1.Cluster{}
	if err := s.hub.Get(ctx, types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: cluster}, object); err != nil {
		return err
	}
	stored := object.DeepCopy()
	object.Labels[label] = value
	return s.hub.Patch(ctx, object, client.MergeFrom(stored))
}
