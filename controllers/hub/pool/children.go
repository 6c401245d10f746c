package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/tenant"
	"github.com/fedquota/fedquota/internal/validate"
)

// ofQuota returns a FederatedQuota as a child of the pool.
func (r *Reconciler) ofQuota(
	ctx context.Context, p *quotav1alpha1.QuotaPool, fq *quotav1alpha1.FederatedQuota,
) (*child, error) {
	c := quotaOf(p, fq)
	c.needs(r.Needs.of(c.Key, NeedOf(fq, &fq.Status.BudgetStatus)))
	labels, err := r.labelsOf(ctx, fq.Namespace)
	if !validate.Allows(&p.Spec, labels) {
		c.refused = "spec.allowedNamespaces does not select namespace " + fq.Namespace
	}
	c.ofTenant = tenant.IsKept(fq)
	if c.ofTenant && !tenant.Matches(&p.Spec, "", fq.Namespace, labels) {
		c.leaving = true // its namespace is the pool's no longer: it gives all back
	}
	return c, err
}

// ofPool returns a QuotaPool as a child of the pool.
func (r *Reconciler) ofPool(p, below *quotav1alpha1.QuotaPool) *child {
	c := ofPool(p, below)
	c.needs(r.Needs.of(c.Key, NeedOf(below, &below.Status.BudgetStatus)))
	return c
}

// labelsOf returns the labels of a namespace, none if it is gone.
func (r *Reconciler) labelsOf(ctx context.Context, namespace string) (map[string]string, error) {
	found := namespaces.Metadata()
	err := r.Get(ctx, client.ObjectKey{Name: namespace}, found, client.UnsafeDisableDeepCopy)
	return found.Labels, client.IgnoreNotFound(err)
}

// byPool is the index of what is cached: the pools that an object names, or is in.
const byPool = "pool"

// index has what is cached be listed by pool.
func (r *Reconciler) index(ctx context.Context, indexer client.FieldIndexer) error {
	r.indexed = true
	return errors.Join(
		indexer.IndexField(ctx, &quotav1alpha1.FederatedQuota{}, byPool, func(object client.Object) []string {
			fq := object.(*quotav1alpha1.FederatedQuota)
			return around(membership.PoolOf(fq), fq.Status.Pool)
		}),
		indexer.IndexField(ctx, &quotav1alpha1.QuotaPool{}, byPool, func(object client.Object) []string {
			p := object.(*quotav1alpha1.QuotaPool)
			return around(string(p.Spec.Parent), p.Status.Pool)
		}),
	)
}

func around(names string, in *quotav1alpha1.PoolMembership) []string {
	return sets.List(sets.New(names, poolIn(in)).Delete(""))
}

// cached returns how to list the children of a pool from the cache.
func (r *Reconciler) cached(p *quotav1alpha1.QuotaPool) []client.ListOption {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if r.indexed {
		options = append(options, client.MatchingFields{byPool: p.Name})
	}
	return options
}

// childrenOf returns all that name the pool, or are in one of its name, by key, as a reader shows them.
func (r *Reconciler) childrenOf(
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

// inhabitants returns the keys of those that stand in a pool that is gone. FederatedQuotas are listed first: one that
// goes to a pool that has come in its place meanwhile is in the first list, or counted there in the second.
func (r *Reconciler) inhabitants(ctx context.Context, key, uid string) ([]string, error) {
	var quotas quotav1alpha1.FederatedQuotaList
	if err := r.Live.List(ctx, &quotas); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	var pools quotav1alpha1.QuotaPoolList
	if err := r.Live.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	var all []*pool.Child
	for i := range quotas.Items {
		all = append(all, pool.ChildOfQuota(&quotas.Items[i]))
	}
	for i := range pools.Items {
		all = append(all, pool.ChildOfPool(&pools.Items[i]))
	}
	return pool.TreeOf(pools.Items).Inhabitants(key, uid, all), nil
}
