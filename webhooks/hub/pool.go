package hub

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/shares"
	"github.com/fedquota/fedquota/internal/validate"
)

// PoolValidator refuses a QuotaPool that the hub manager would not act upon, in the words that its condition would
// have.
type PoolValidator struct {
	// Reader reads QuotaPools, FederatedQuotas, Clusters, and the metadata of namespaces.
	Reader client.Reader
	// Clusters says where the Clusters are, AgentNamespace where the agents are in members.
	Clusters       members.Namespaces
	AgentNamespace string
	// ScalesOut says that the hub manager adds nodes for budgets that ask for that.
	ScalesOut bool
}

// PoolPath is where the webhook is served, as its marker says.
const PoolPath = "/validate-quotapool"

// SetupWithManager has the manager serve the webhook.
func (v *PoolValidator) SetupWithManager(mgr ctrl.Manager) {
	handler := checked{admission.WithValidator(mgr.GetScheme(), v).Handler}
	mgr.GetWebhookServer().Register(PoolPath, &admission.Webhook{Handler: handler})
}

// ValidateCreate refuses what cannot be acted on.
func (v *PoolValidator) ValidateCreate(ctx context.Context, pool *quotav1alpha1.QuotaPool) (admission.Warnings, error) {
	return v.judge(ctx, nil, pool)
}

// ValidateUpdate refuses what cannot be acted on, unless that was so before. An update that leaves the spec as it is,
// or of an object that goes, is never refused.
func (v *PoolValidator) ValidateUpdate(
	ctx context.Context, before, pool *quotav1alpha1.QuotaPool,
) (admission.Warnings, error) {
	if !pool.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, pool.Spec) {
		return nil, nil
	}
	return v.judge(ctx, before, pool)
}

// ValidateDelete refuses nothing, and says what the pool waits for.
func (v *PoolValidator) ValidateDelete(_ context.Context, pool *quotav1alpha1.QuotaPool) (admission.Warnings, error) {
	var children []string
	for i := range pool.Status.Children {
		children = append(children, string(pool.Status.Children[i].Key))
	}
	if len(children) == 0 {
		return nil, nil
	}
	if pool.Spec.Namespaces.Selector != nil {
		return deletion(pool), nil
	}
	return admission.Warnings{fmt.Sprintf("QuotaPool %s stays until all have left it: give %s another pool, or none",
		pool.Name, shares.Abbreviated(children))}, nil
}

// judge refuses what cannot be acted on and was not there before, and warns of the rest.
func (v *PoolValidator) judge(ctx context.Context, before, pool *quotav1alpha1.QuotaPool) (admission.Warnings, error) {
	around, err := readForest(ctx, v.Reader)
	if err != nil {
		return blind(err), nil
	}
	clusters, err := v.Clusters.List(ctx, v.Reader)
	if err != nil {
		return blind(err), nil
	}
	problems := func(of *quotav1alpha1.QuotaPool) field.ErrorList {
		return slices.Concat(around.problems(of), v.templateProblems(of, clusters))
	}
	warnings := func(of *quotav1alpha1.QuotaPool) admission.Warnings {
		return slices.Concat(around.warnings(of), withoutNodes(of, clusters))
	}
	var old field.ErrorList
	var told sets.Set[string]
	var rule *quotav1alpha1.Capacity
	if before != nil {
		old, told, rule = problems(before), sets.New(warnings(before)...), capacity.RuleOf(before)
	}
	added, kept := split(old, problems(pool))
	if err := refusal("QuotaPool", pool.Name, added); err != nil {
		return kept, err
	}
	return slices.Concat(kept, slices.DeleteFunc(warnings(pool), told.Has), poolBelowUsage(before, pool),
		v.tenants(ctx, around, before, pool), scalesOut(capacity.RuleOf(pool), rule, v.ScalesOut)), nil
}

// forest are all pools.
type forest map[quotav1alpha1.PoolName]*quotav1alpha1.QuotaPool

func readForest(ctx context.Context, reader client.Reader) (forest, error) {
	var pools quotav1alpha1.QuotaPoolList
	if err := reader.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	f := forest{}
	for i := range pools.Items {
		f[quotav1alpha1.PoolName(pools.Items[i].Name)] = &pools.Items[i]
	}
	return f, nil
}

// parents returns which pool is above each, one of them as it is given.
func (f forest) parents(given *quotav1alpha1.QuotaPool) validate.Parents {
	parents := validate.Parents{}
	for name, pool := range f {
		parents[name] = pool.Spec.Parent
	}
	parents[quotav1alpha1.PoolName(given.Name)] = given.Spec.Parent
	return parents
}

// problems returns what keeps the hub manager from acting upon a pool.
func (f forest) problems(pool *quotav1alpha1.QuotaPool) field.ErrorList {
	if problems := validate.Pool(&pool.Spec); len(problems) > 0 {
		return problems
	}
	return f.parents(pool).Problems(quotav1alpha1.PoolName(pool.Name))
}

// warnings says what a user may not expect of a pool.
func (f forest) warnings(pool *quotav1alpha1.QuotaPool) admission.Warnings {
	return slices.Concat(f.missing("spec.parent", pool.Spec.Parent), f.above(pool.Spec.Hard, pool.Spec.Parent),
		guaranteedInPool(&pool.Spec))
}

// withoutNodes warns of Clusters that do not exist and whose nodes are to count.
func withoutNodes(pool *quotav1alpha1.QuotaPool, clusters []members.Cluster) admission.Warnings {
	if pool.Spec.Capacity == nil {
		return nil
	}
	var warnings admission.Warnings
	for _, name := range pool.Spec.Capacity.Placement.Clusters {
		if !slices.ContainsFunc(clusters, func(c members.Cluster) bool { return c.Name == string(name) }) {
			warnings = append(warnings, fmt.Sprintf(
				"spec.capacity.placement.clusters: %s: there is no such Cluster now, and no node of it counts", name))
		}
	}
	return warnings
}

// missing warns of a pool that does not exist.
func (f forest) missing(path string, name quotav1alpha1.PoolName) admission.Warnings {
	if name == "" || f[name] != nil {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("%s: there is no QuotaPool %s now", path, name)}
}

// above warns of a budget that is above that of a pool over it, and says which number binds.
func (f forest) above(hard corev1.ResourceList, parent quotav1alpha1.PoolName) admission.Warnings {
	var warnings admission.Warnings
	wanted := amount.Saturate(hard, amount.Down)
	for _, name := range wanted.Names() {
		least, who := f.least(name, parent)
		if who == "" || wanted[name] <= least {
			continue
		}
		is := hard[name]
		warnings = append(warnings, fmt.Sprintf("spec.hard[%s]: %s is above the %s of QuotaPool %s: "+
			"no more than that can be had", name, is.String(), amount.Text(name, least, hard), who))
	}
	return warnings
}

// least returns the smallest budget of a name among a pool and those above it, and whose it is; nobody's if none limits
// it.
func (f forest) least(name corev1.ResourceName, pool quotav1alpha1.PoolName) (least int64, who quotav1alpha1.PoolName) {
	parents := validate.Parents{}
	for of, p := range f {
		parents[of] = p.Spec.Parent
	}
	above, _ := parents.Above(pool)
	for _, at := range append([]quotav1alpha1.PoolName{pool}, above...) {
		if f[at] == nil {
			break
		}
		if value, limited := ownBudget(&f[at].Spec)[name]; limited && (who == "" || value < least) {
			least, who = value, at
		}
	}
	return least, who
}

// guaranteedInPool warns of guarantees that add up to more than the pool has.
func guaranteedInPool(spec *quotav1alpha1.QuotaPoolSpec) admission.Warnings {
	var sum amount.List
	children := validate.Named(&spec.Distribution)
	for _, child := range children {
		least, _ := validate.Bounds(&spec.Distribution, child)
		sum = amount.Sum(sum, amount.Saturate(least, amount.Up))
	}
	var warnings admission.Warnings
	budget := ownBudget(spec)
	for _, name := range sum.Names() {
		if sum[name] <= budget[name] {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.distribution.rules: the min of the %d children that are named "+
			"add up to %s %s, above the budget of %s: not all of them can have it at once", len(children),
			amount.Text(name, sum[name], spec.Hard), name, amount.Text(name, budget[name], spec.Hard)))
	}
	return warnings
}

// ownBudget returns what a pool may hand out whatever its nodes can run.
func ownBudget(spec *quotav1alpha1.QuotaPoolSpec) amount.List {
	return capacity.Budget(spec.Hard, spec.Reserve, nil, nil)
}

// poolBelowUsage warns of a budget that comes below what is used.
func poolBelowUsage(before, pool *quotav1alpha1.QuotaPool) admission.Warnings {
	if before == nil || equality.Semantic.DeepEqual(before.Spec.Hard, pool.Spec.Hard) &&
		equality.Semantic.DeepEqual(before.Spec.Reserve, pool.Spec.Reserve) {
		return nil
	}
	var warnings admission.Warnings
	hard, budget, used := pool.Spec.Hard, ownBudget(&pool.Spec), amount.Saturate(pool.Status.Used, amount.Up)
	for _, name := range used.Names() {
		most, limited := budget[name]
		if !limited || used[name] <= most {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.hard[%s]: a budget of %s is below the %s in use: "+
			"nothing is stopped, and no more is admitted until usage has fallen",
			name, amount.Text(name, most, hard), amount.Text(name, used[name], hard)))
	}
	return warnings
}
