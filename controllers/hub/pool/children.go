package pool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/validate"
)

// child is one version of an object that is in the pool, or shall be.
type child struct {
	*pool.Child

	// names says that its spec names the pool, and refused why it may not be in it, or is empty.
	names   bool
	refused string
	// leaving says that it is being deleted, and stalled that it cannot act on its spec.
	leaving, stalled bool
	// own is its own budget, used what it uses, and demand what it could use beyond that, which shapes split. kept is what
	// it needs beside that.
	own, used, demand, kept amount.List
	shapes                  []quotav1alpha1.DemandShape
}

// ofQuota returns a FederatedQuota as a child of the pool.
func (r *Reconciler) ofQuota(
	ctx context.Context, p *quotav1alpha1.QuotaPool, fq *quotav1alpha1.FederatedQuota,
) (*child, error) {
	c := &child{
		Child: pool.ChildOfQuota(fq), names: membership.PoolOf(fq) == p.Name, leaving: !fq.DeletionTimestamp.IsZero(),
		stalled: stalled(fq.Status.Conditions), own: ownBudget(fq.Spec.Hard, fq.Spec.Reserve),
	}
	status := &fq.Status
	c.needs(r.Needs.of(c.Key, Need{fq.ResourceVersion, status.Used, status.Demand, status.Kept, status.DemandByShape}))
	allowed, err := r.allows(ctx, p, fq.Namespace)
	if !allowed {
		c.refused = "spec.allowedNamespaces does not select namespace " + fq.Namespace
	}
	return c, err
}

// ofPool returns a QuotaPool as a child of the pool.
func (r *Reconciler) ofPool(p, below *quotav1alpha1.QuotaPool) *child {
	c := &child{
		Child: pool.ChildOfPool(below), names: string(below.Spec.Parent) == p.Name,
		leaving: !below.DeletionTimestamp.IsZero(),
		stalled: stalled(below.Status.Conditions), own: ownBudget(below.Spec.Hard, below.Spec.Reserve),
	}
	status := &below.Status
	c.needs(r.Needs.of(c.Key, Need{below.ResourceVersion, status.Used, status.Demand, status.Kept, status.DemandByShape}))
	return c
}

// needs takes what the child needs.
func (c *child) needs(n Need) {
	c.used, c.demand, c.shapes = amount.Saturate(n.Used, amount.Up), amount.Saturate(n.Demand, amount.Up), n.Shapes
	c.kept = amount.Saturate(n.Kept, amount.Up)
}

func stalled(conditions []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(conditions, quotav1alpha1.ConditionStalled)
}

func ownBudget(hard, reserve corev1.ResourceList) amount.List {
	return amount.Sub(amount.Saturate(hard, amount.Down), amount.Saturate(reserve, amount.Up))
}

// allows says whether FederatedQuotas of a namespace may be in the pool.
func (r *Reconciler) allows(ctx context.Context, p *quotav1alpha1.QuotaPool, namespace string) (bool, error) {
	if p.Spec.AllowedNamespaces.Selector == nil {
		return false, nil
	}
	found := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: namespace}, found, client.UnsafeDisableDeepCopy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return validate.Allows(&p.Spec, found.Labels), nil
}

// concerns says whether a child names the pool, or is in one of its name.
func concerns(p *quotav1alpha1.QuotaPool, names string, stored *quotav1alpha1.PoolMembership) bool {
	return names == p.Name || stored != nil && string(stored.Name) == p.Name
}

// children returns all that name the pool, or are in one of its name, by key, as a reader shows them.
func (r *Reconciler) children(
	ctx context.Context, reader client.Reader, p *quotav1alpha1.QuotaPool, options ...client.ListOption,
) (map[string]*child, error) {
	found := map[string]*child{}
	var quotas quotav1alpha1.FederatedQuotaList
	if err := reader.List(ctx, &quotas, options...); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	for i := range quotas.Items {
		fq := &quotas.Items[i]
		if !concerns(p, membership.PoolOf(fq), fq.Status.Pool) {
			continue
		}
		c, err := r.ofQuota(ctx, p, fq)
		if err != nil {
			return nil, err
		}
		found[c.Key] = c
	}
	var pools quotav1alpha1.QuotaPoolList
	if err := reader.List(ctx, &pools, options...); err != nil {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	for i := range pools.Items {
		if below := &pools.Items[i]; below.Name != p.Name && concerns(p, string(below.Spec.Parent), below.Status.Pool) {
			c := r.ofPool(p, below)
			found[c.Key] = c
		}
	}
	return found, nil
}

// live reads one child, nil if there is none of its name.
func (r *Reconciler) live(ctx context.Context, p *quotav1alpha1.QuotaPool, key string) (*child, error) {
	parts := strings.Split(key, "/")
	if len(parts) == 2 {
		below := &quotav1alpha1.QuotaPool{}
		if err := r.Live.Get(ctx, client.ObjectKey{Name: parts[1]}, below); err != nil {
			return nil, ignoreNotFound(err, key)
		}
		return r.ofPool(p, below), nil
	}
	fq := &quotav1alpha1.FederatedQuota{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: parts[1], Name: parts[2]}, fq); err != nil {
		return nil, ignoreNotFound(err, key)
	}
	return r.ofQuota(ctx, p, fq)
}

func ignoreNotFound(err error, key string) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", key, err)
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
