package pool

import (
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
)

// child is one version of an object that is in the pool, or shall be.
type child struct {
	*pool.Child

	// names says that its spec names the pool, and refused why it may not be in it, or is empty.
	names   bool
	refused string
	// leaving says that it is being deleted, or kept for the pool no longer, and stalled that it cannot act on its spec.
	// ofTenant says that it is a FederatedQuota that is kept for a pool.
	leaving, stalled, ofTenant bool
	// own is its own budget, used what it uses, and demand what it could use beyond that, which shapes split.
	// alsoNeeded is what it needs beside that.
	own, used, demand, alsoNeeded amount.List
	shapes                        []quotav1alpha1.DemandShape
}

// quotaOf returns a FederatedQuota as a child of the pool whose namespace is allowed, with the needs that it has
// stored.
func quotaOf(p *quotav1alpha1.QuotaPool, fq *quotav1alpha1.FederatedQuota) *child {
	c := &child{
		Child: pool.ChildOfQuota(fq), names: membership.PoolOf(fq) == p.Name, leaving: !fq.DeletionTimestamp.IsZero(),
		stalled: stalled(fq.Status.Conditions),
		own:     capacity.Budget(fq.Spec.Hard, fq.Spec.Reserve, fq.Spec.Capacity, fq.Status.Capacity),
	}
	c.needs(NeedOf(fq, &fq.Status.BudgetStatus))
	return c
}

// ofPool returns a QuotaPool as a child of the pool, with the needs that it has stored.
func ofPool(p, below *quotav1alpha1.QuotaPool) *child {
	c := &child{
		Child: pool.ChildOfPool(below), names: string(below.Spec.Parent) == p.Name,
		leaving: !below.DeletionTimestamp.IsZero(),
		stalled: stalled(below.Status.Conditions), own: ownBudget(below),
	}
	c.needs(NeedOf(below, &below.Status.BudgetStatus))
	return c
}

// needs takes what the child needs.
func (c *child) needs(n Need) {
	c.used, c.demand, c.shapes = amount.Saturate(n.Used, amount.Up), amount.Saturate(n.Demand, amount.Up), n.Shapes
	c.alsoNeeded = amount.Saturate(n.AlsoNeeded, amount.Up)
}

func stalled(said []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(said, quotav1alpha1.ConditionStalled)
}

// ownBudget returns the budget of a pool that no parent bounds.
func ownBudget(p *quotav1alpha1.QuotaPool) amount.List {
	return capacity.Budget(p.Spec.Hard, p.Spec.Reserve, capacity.RuleOf(p), p.Status.Capacity)
}

// concerns says whether a child names the pool, or is in one of its name.
func concerns(p *quotav1alpha1.QuotaPool, names string, stored *quotav1alpha1.PoolMembership) bool {
	return names == p.Name || stored != nil && string(stored.Name) == p.Name
}

// list returns children by key, in order.
func list(children map[string]*child) []*child {
	sorted := make([]*child, 0, len(children))
	for _, key := range slices.Sorted(maps.Keys(children)) {
		sorted = append(sorted, children[key])
	}
	return sorted
}

// asPure returns what the protocol knows of children.
func asPure(children map[string]*child) []pool.Child {
	pure := make([]pool.Child, 0, len(children))
	for _, c := range list(children) {
		pure = append(pure, *c.Child)
	}
	return pure
}

// terms returns the terms of a child: each comes from the last rule that matches it and sets it. It gets no more than
// its own budget.
func terms(p *quotav1alpha1.QuotaPool, c *child) round.Terms {
	t := round.Terms{Weight: 1}
	for i := range p.Spec.Distribution.Rules {
		rule := &p.Spec.Distribution.Rules[i]
		if len(rule.Children) > 0 && !slices.Contains(rule.Children, nameOf(c.Key)) {
			continue
		}
		if rule.Weight != nil {
			t.Weight = int64(*rule.Weight)
		}
		t.Override(rule.Min, rule.Lendable, rule.Max, rule.Headroom)
	}
	t.Min, t.Max = within(t.Min, c.own), amount.Max(within(c.own, t.Max), within(t.Max, c.own))
	t.Lendable = within(t.Lendable, t.Min)
	return t
}

// nameOf returns a key as rules write it.
func nameOf(key string) quotav1alpha1.ChildName {
	_, name, _ := strings.Cut(key, "/")
	return quotav1alpha1.ChildName(name)
}

// within returns the amounts of a list, each at most that of bounds if there is one.
func within(list, bounds amount.List) amount.List {
	bounded := list.Clone()
	for name, value := range bounded {
		if most, ok := bounds[name]; ok {
			bounded[name] = min(value, most)
		}
	}
	return bounded
}

// wants returns what a child could use beyond what it uses, within its own budget.
func (c *child) wants() amount.List { return c.within(c.demand.Clone()) }

// within bounds a demand by the child's own budget.
func (c *child) within(demand amount.List) amount.List {
	for name, value := range demand {
		if most, bounded := c.own[name]; bounded {
			demand[name] = max(0, min(amount.Add(c.used[name], value), most)-c.used[name])
		}
	}
	return demand
}

// uses returns what a child uses of the names of a budget, without those of which that is not known: what it may have
// granted there, it says nothing of.
func (c *child) uses(budget amount.List) amount.List {
	used := amount.List{}
	for name := range budget {
		value, known := c.used[name]
		if known || !c.Unknown && c.Granted[name] == 0 {
			used[name] = value
		}
	}
	return used
}

func poolIn(m *quotav1alpha1.PoolMembership) string {
	if m == nil {
		return ""
	}
	return string(m.Name)
}
