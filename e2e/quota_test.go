package e2e_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// federatedQuota reads the FederatedQuota.
func (s *scenario) federatedQuota(ctx context.Context) (*quotav1alpha1.FederatedQuota, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	return fq, s.hub.Get(ctx, s.key, fq)
}

// create creates the FederatedQuota over all members of tier prod, weights 3:2:1, changed by mutate.
func (s *scenario) create(hard corev1.ResourceList, mutate ...func(*quotav1alpha1.FederatedQuota)) {
	s.Helper()
	fq := newQuota(s.key, hard)
	fq.Spec.Scopes, fq.Spec.ScopeSelector = s.scopes, s.selector
	for _, m := range mutate {
		m(fq)
	}
	s.must(s.hub.Create(s.Context(), fq))
}

func newQuota(key types.NamespacedName, hard corev1.ResourceList) *quotav1alpha1.FederatedQuota {
	return &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: hard,
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: "prod"}},
				CreateNamespace: new(true),
			},
			Distribution: quotav1alpha1.Distribution{Weights: quotav1alpha1.WeightsStatic, Rules: weights(3, 2, 1)},
			Rebalance:    quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic},
		},
	}
}

// weights are the rules that give east, west and north these weights.
func weights(values ...int32) []quotav1alpha1.DistributionRule {
	var rules []quotav1alpha1.DistributionRule
	for i, name := range []quotav1alpha1.ClusterName{east, west, north} {
		rules = append(rules, quotav1alpha1.DistributionRule{Clusters: []quotav1alpha1.ClusterName{name}, RuleTerms: quotav1alpha1.RuleTerms{Weight: &values[i]}})
	}
	return rules
}

// budget is a list of cpu and pods.
func budget(cpus, count string) corev1.ResourceList {
	return corev1.ResourceList{cpu: resource.MustParse(cpus), pods: resource.MustParse(count)}
}

// change changes the FederatedQuota, and tells the observer of another budget.
func (s *scenario) change(mutate func(*quotav1alpha1.FederatedQuota)) {
	s.Helper()
	defer s.tellOfWait("a change to be accepted", time.Now())
	s.must(s.tryChange(s.Context(), mutate))
}

func (s *scenario) tryChange(ctx context.Context, mutate func(*quotav1alpha1.FederatedQuota)) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	stored := fq.DeepCopy()
	mutate(fq)
	write := func(ctx context.Context) error { return s.hub.Patch(ctx, fq, client.MergeFrom(stored)) }
	if quotav1.Equals(stored.Spec.Hard, fq.Spec.Hard) {
		return write(ctx)
	}
	return s.observer.ChangeBudget(ctx, fq.Spec.Hard, write)
}

// quota reads the ResourceQuota of a member.
func (s *scenario) quota(ctx context.Context, member string) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	return quota, s.member(member).Get(ctx, s.key, quota)
}
