// Package tenant says which QuotaPool has a namespace of the hub by spec.namespaces, and what the FederatedQuota says
// that is kept there. It is pure.
package tenant

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// DefaultName is the name of FederatedQuotas whose template has none. It is the same for all pools, since a namespace
// that comes to another pool keeps its FederatedQuota.
const DefaultName = "budget"

// Kept is the value of the label of FederatedQuotas that are kept for pools.
const Kept = "QuotaPool"

// IsKept says whether a FederatedQuota is kept for a pool.
func IsKept(fq *quotav1alpha1.FederatedQuota) bool { return fq.Labels[quotav1alpha1.KeptLabel] == Kept }

// Name returns the name of FederatedQuotas that are made for a pool.
func Name(spec *quotav1alpha1.QuotaPoolSpec) string {
	return cmp.Or(string(spec.Namespaces.Template.Name), DefaultName)
}

// Spec returns what the FederatedQuota of a namespace says that a pool of this name has.
func Spec(name string, pool *quotav1alpha1.QuotaPoolSpec) *quotav1alpha1.FederatedQuotaSpec {
	t := &pool.Namespaces.Template
	spec := &quotav1alpha1.FederatedQuotaSpec{
		Hard: t.Hard, Pool: &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(name)},
		Placement:    quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{}},
		Distribution: t.Distribution, Rebalance: t.Rebalance, Admission: t.Admission,
		ExistingQuotas: t.ExistingQuotas, Removal: t.Removal,
	}
	if len(spec.Hard) == 0 {
		spec.Hard = pool.Hard
	}
	if t.Placement != nil {
		spec.Placement = *t.Placement
	}
	spec = spec.DeepCopy()
	if p := &spec.Placement; p.WhereNamespaceExists == nil && !ptr.Deref(p.CreateNamespace, false) {
		p.WhereNamespaceExists = new(true)
	}
	return spec
}

// system are Kubernetes' own namespaces: a limit there could keep a cluster from working.
var system = []string{"kube-node-lease", "kube-public", "kube-system"}

// Matches says whether the selector of a pool matches a namespace; agents is the namespace of the agents.
func Matches(pool *quotav1alpha1.QuotaPoolSpec, agents, namespace string, of map[string]string) bool {
	if pool.Namespaces.Selector == nil || namespace == agents || slices.Contains(system, namespace) {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(pool.Namespaces.Selector)
	return err == nil && s.Matches(labels.Set(of))
}

// Before says whether the first of two pools that match a namespace has it: the one whose selector demands the most
// labels, and of those that demand as many, the one whose name comes first.
func Before(a, b *quotav1alpha1.QuotaPool) bool {
	return cmp.Or(demanded(b)-demanded(a), cmp.Compare(a.Name, b.Name)) < 0
}

// demanded returns how many labels a selector demands. What it excludes does not count: a pool for all namespaces but
// some stays one for all.
func demanded(pool *quotav1alpha1.QuotaPool) int {
	selector := pool.Spec.Namespaces.Selector
	number := len(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpExists {
			number++
		}
	}
	return number
}

// Of returns which of the pools has a namespace, nil if none has; agents is the namespace of the agents. One that is
// being deleted has none.
func Of(pools []quotav1alpha1.QuotaPool, agents, namespace string, of map[string]string) *quotav1alpha1.QuotaPool {
	var found *quotav1alpha1.QuotaPool
	for i := range pools {
		pool := &pools[i]
		if pool.DeletionTimestamp.IsZero() && Matches(&pool.Spec, agents, namespace, of) &&
			(found == nil || Before(pool, found)) {
			found = pool
		}
	}
	return found
}
