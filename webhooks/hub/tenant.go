package hub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/shares"
	"github.com/fedquota/fedquota/internal/tenant"
	"github.com/fedquota/fedquota/internal/validate"
)

// templateProblems returns what keeps the hub manager from acting upon the FederatedQuotas that are kept for a pool, as
// far as that is not wrong by itself.
func (v *PoolValidator) templateProblems(pool *quotav1alpha1.QuotaPool, clusters []members.Cluster) field.ErrorList {
	if pool.Spec.Namespaces.Selector == nil || len(validate.Pool(&pool.Spec)) > 0 {
		return nil
	}
	fq := &quotav1alpha1.FederatedQuota{Spec: *tenant.Spec(pool.Name, &pool.Spec)}
	if len(fq.Spec.Hard) == 0 {
		return field.ErrorList{field.Required(field.NewPath("spec", "namespaces", "template", "hard"),
			"spec.hard names no resource of which each namespace may have all: say what each may have at most")}
	}
	return validate.InTemplate(&pool.Spec, input.Problems(fq, clusters, v.AgentNamespace))
}

// whose is which pool has a namespace, as a warning says it.
const whose = "of several pools that match a namespace, the one has it whose selector demands the most labels, " +
	"then the one whose name comes first"

// tenants says which namespaces a pool gets by a selector that it did not have before, and which it does not.
func (v *PoolValidator) tenants(
	ctx context.Context, around forest, before, pool *quotav1alpha1.QuotaPool,
) admission.Warnings {
	if before == nil {
		before = &quotav1alpha1.QuotaPool{}
	}
	if equality.Semantic.DeepEqual(before.Spec.Namespaces.Selector, pool.Spec.Namespaces.Selector) {
		return nil
	}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	var quotas quotav1alpha1.FederatedQuotaList
	for _, list := range []client.ObjectList{all, &quotas} {
		if err := v.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return admission.Warnings{"spec.namespaces: not checked: " + err.Error()}
		}
	}
	slices.SortFunc(all.Items, func(a, b metav1.PartialObjectMetadata) int { return cmp.Compare(a.Name, b.Name) })
	m := &moves{elsewhere: map[string][]string{}, taken: map[string][]string{}}
	was, is := around.with(pool.Name, before), around.with(pool.Name, pool)
	for i := range all.Items {
		n := &all.Items[i]
		matched := tenant.Matches(&pool.Spec, v.AgentNamespace, n.Name, n.Labels)
		had, has := tenant.Of(was, v.AgentNamespace, n.Name, n.Labels), tenant.Of(is, v.AgentNamespace, n.Name, n.Labels)
		m.note(n.Name, pool.Name, matched, had, has)
	}
	m.own = owned(quotas.Items, m.gets, pool.Name)
	return m.warnings(pool)
}

// with returns all pools, one of them as it is given.
func (f forest) with(name string, given *quotav1alpha1.QuotaPool) []quotav1alpha1.QuotaPool {
	pools := []quotav1alpha1.QuotaPool{*given}
	for _, pool := range f {
		if pool.Name != name {
			pools = append(pools, *pool)
		}
	}
	return pools
}

// owned returns those namespaces that have a FederatedQuota without scopes of their own, which is not in the pool.
func owned(quotas []quotav1alpha1.FederatedQuota, among []string, pool string) []string {
	own := map[string]bool{}
	for i := range quotas {
		fq := &quotas[i]
		inPool := fq.Spec.Pool != nil && string(fq.Spec.Pool.Name) == pool
		scoped := len(fq.Spec.Scopes) > 0 || fq.Spec.ScopeSelector != nil
		if !tenant.IsKept(fq) && !inPool && !scoped && slices.Contains(among, fq.Namespace) {
			own[fq.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(own))
}

// moves are the namespaces that a change of a pool concerns.
type moves struct {
	// matched is how many the selector matches, and gets are those of them that the pool has then.
	matched int
	gets    []string
	// elsewhere are those that another pool has all the same, and taken those that come from another pool, by its name.
	elsewhere, taken map[string][]string
	// left are those that no pool has any more, and own those that have a budget of their own.
	left, own []string
}

// note notes which pool had a namespace, and which one has it now.
func (m *moves) note(namespace, pool string, matched bool, had, has *quotav1alpha1.QuotaPool) {
	if matched {
		m.matched++
	}
	switch {
	case has == nil && had != nil:
		m.left = append(m.left, namespace)
	case has == nil:
	case has.Name != pool && matched:
		m.elsewhere[has.Name] = append(m.elsewhere[has.Name], namespace)
	case has.Name == pool:
		m.gets = append(m.gets, namespace)
		if had != nil && had.Name != pool {
			m.taken[had.Name] = append(m.taken[had.Name], namespace)
		}
	}
}

func (m *moves) warnings(pool *quotav1alpha1.QuotaPool) admission.Warnings {
	var warnings admission.Warnings
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("spec.namespaces.selector: "+format, args...))
	}
	if pool.Spec.Namespaces.Selector != nil && m.matched == 0 {
		warn("matches no namespace now")
	}
	for _, other := range slices.Sorted(maps.Keys(m.elsewhere)) {
		these := m.elsewhere[other]
		warn("QuotaPool %s has %d of the %d namespaces that it matches (%s): %s",
			other, len(these), m.matched, shares.Abbreviated(these), whose)
	}
	for _, other := range slices.Sorted(maps.Keys(m.taken)) {
		these := m.taken[other]
		warn("%d namespaces come from QuotaPool %s, with what they have (%s): %s",
			len(these), other, shares.Abbreviated(these), whose)
	}
	if len(m.left) > 0 {
		warn("%d namespaces leave (%s): nothing more can be created there beyond what is used, "+
			"and their FederatedQuotas go once nothing is", len(m.left), shares.Abbreviated(m.left))
	}
	if len(m.own) > 0 {
		warn("%d namespaces are left as they are (%s): they have a FederatedQuota of their own",
			len(m.own), shares.Abbreviated(m.own))
	}
	return warnings
}

// deletion says what becomes of the FederatedQuotas that are kept for a pool that is deleted.
func deletion(pool *quotav1alpha1.QuotaPool) admission.Warnings {
	policy := cmp.Or(pool.Spec.Namespaces.Template.Removal.Policy, quotav1alpha1.RemovalRetain)
	then := "nothing more can be created there beyond what is used"
	if policy == quotav1alpha1.RemovalDelete {
		then = "they have no limit any more"
	}
	return admission.Warnings{fmt.Sprintf("the FederatedQuotas that are kept for QuotaPool %s are deleted with it, "+
		"but for namespaces that another pool has. spec.namespaces.template.removal.policy is %s: in members, %s. "+
		"It stays until its %d children have left it", pool.Name, policy, then, len(pool.Status.Children))}
}
