package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// tenantName is that of the pool that keeps all budgets, and the label of their namespaces.
const tenantName = "tenant"

func (r *rig) pooledPhases() []phase {
	return []phase{
		{"connect", false, r.connect},
		{"create", false, r.createTenant},
		{"calm", true, wait(restTime)},
		{"noise", true, r.noise},
		{"one namespace wants more", true, r.oneWants},
		{"a tenth of the namespaces leaves", true, r.leave},
		{"restart", true, r.restartTenant},
	}
}

// createTenant makes all namespaces and a pool that selects them, and waits until it has a budget in force in each.
func (r *rig) createTenant(ctx context.Context) error {
	if r.in == 0 {
		r.in = r.size
	}
	err := r.forBudgets(r.budgets, func(key types.NamespacedName) error {
		return r.hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: key.Namespace, Labels: map[string]string{tenantName: "yes"},
		}})
	})
	if err != nil {
		return err
	}
	for i := range r.budgets {
		for n := range r.in {
			m := r.members[(i+n)%r.size]
			m.AddNamespace(budgetKey(i).Namespace)
			want(m, i, usualParts)
		}
	}
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: tenantName}}
	pool.Spec.Hard = parts(int64(10*r.budgets), r.size)
	pool.Spec.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{tenantName: "yes"}}
	pool.Spec.Namespaces.Template = quotav1alpha1.QuotaTemplate{
		Name: "compute", Hard: parts(20, r.size), Rebalance: quotav1alpha1.Rebalance{Mode: r.mode},
		Placement: &quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: tier}}},
	}
	return errors.Join(r.hub.Create(ctx, pool), r.tenantSettled(ctx))
}

// tenantSettled waits until all namespaces have a part of the pool, and all budgets are settled where namespaces are.
func (r *rig) tenantSettled(ctx context.Context) error {
	err := until(ctx, slowPoll, func(ctx context.Context) bool {
		pool := &quotav1alpha1.QuotaPool{}
		return r.hub.Get(ctx, client.ObjectKey{Name: tenantName}, pool) == nil &&
			pool.Status.Settled == fmt.Sprintf("%d/%d", r.budgets, r.budgets)
	})
	if err != nil || r.in < r.size {
		return err
	}
	return r.settled(ctx)
}

// oneWants has a member want half as much again of a namespace as its limit lets it use, and waits until that is in
// force.
func (r *rig) oneWants(ctx context.Context) error {
	m := r.members[0]
	limit := func() int64 {
		share := m.Share(budgetKey(0))
		if share == nil {
			return 0
		}
		hard := share.Status.Hard[corev1.ResourcePods]
		return hard.Value()
	}
	wanted := limit()/podsPerPart*3/2 + 1
	want(m, 0, wanted)
	return until(ctx, poll, func(context.Context) bool { return limit() >= podsPerPart*wanted })
}

// restartTenant kills the hub manager, starts it again, and waits until each budget had a round and has its part.
func (r *rig) restartTenant(ctx context.Context) error {
	return errors.Join(r.restarted(ctx), r.tenantSettled(ctx))
}

// leave takes namespaces that use nothing any more out of the tenant, and waits until their FederatedQuotas are gone.
func (r *rig) leave(ctx context.Context) error {
	gone := r.budgets / 10
	for i := r.budgets - gone; i < r.budgets; i++ {
		for _, m := range r.members {
			want(m, i, 0)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: budgetKey(i).Namespace, Labels: map[string]string{tenantName: "no"}}}
		if err := r.hub.Patch(ctx, namespace, client.Merge); err != nil {
			return err
		}
	}
	r.budgets -= gone
	return r.tenantSettled(ctx)
}
