package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// neighbour is the budget of the second team.
var neighbour = types.NamespacedName{Namespace: "team-b", Name: quotaKey.Name}

// pool has a team that idles lend to its neighbour.
func (d *display) pool(ctx context.Context, root string) error {
	d.say("act 9: team-a scales down to 6 cpu. team-b comes, and a pool of 24 cpu is put above both")
	if err := d.scaleAll(ctx, 2); err != nil {
		return err
	}
	if err := d.uses(ctx, map[string]string{"east": "2", "west": "2", "north": "2"}); err != nil {
		return err
	}
	acme := poolOfBoth()
	if err := d.gather(ctx, root, acme); err != nil {
		return err
	}
	shared := func() bool { return acme.Status.Settled == "2/2" }
	if err := d.untilPool(ctx, acme, "both teams to have a part", shared); err != nil {
		return err
	}
	began := time.Now()
	d.say("       team-b runs 16 cpu in west: its half is 12, and team-a lends it the rest")
	if err := d.create(ctx, "west", deployment(neighbour.Namespace, 16)); err != nil {
		return err
	}
	if err := d.untilUsed(ctx, "west", "16"); err != nil {
		return err
	}
	d.say(fmt.Sprintf("       all 16 admitted after %.1f s", time.Since(began).Seconds()))
	settled := func() bool { return shared() && amount(acme.Status.Used, corev1.ResourceRequestsCPU) == "22" }
	if err := d.untilPool(ctx, acme, "the pool to settle, and to see what is used", settled); err != nil {
		return err
	}
	return d.answer(ctx, fleet.HubName, "tree", "--resource", "requests.cpu")
}

// gather creates the pool and the budget of the second team, and puts both teams into the pool.
func (d *display) gather(ctx context.Context, root string, acme *quotav1alpha1.QuotaPool) error {
	if err := d.create(ctx, fleet.HubName, acme); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: neighbour.Namespace}}
	if err := d.create(ctx, fleet.HubName, namespace); err != nil {
		return err
	}
	inPool := &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(acme.Name)}
	other, err := sample(root)
	if err != nil {
		return err
	}
	other.Namespace, other.Spec.Pool = neighbour.Namespace, inPool
	other.Spec.Rebalance.Mode, other.Spec.Removal.Policy = quotav1alpha1.RebalanceAuto, quotav1alpha1.RemovalDelete
	if err := d.create(ctx, fleet.HubName, other); err != nil {
		return err
	}
	return d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Pool = inPool })
}

// poolOfBoth returns the pool above both teams.
func poolOfBoth() *quotav1alpha1.QuotaPool {
	return &quotav1alpha1.QuotaPool{
		ObjectMeta: metav1.ObjectMeta{Name: "acme"},
		Spec: quotav1alpha1.QuotaPoolSpec{
			Hard:              corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("24")},
			AllowedNamespaces: quotav1alpha1.AllowedNamespaces{Selector: &metav1.LabelSelector{}},
		},
	}
}

// dissolve takes the pool and the second team away; the first has left the pool.
func (d *display) dissolve(ctx context.Context) error {
	if err := d.delete(ctx, "west", deployment(neighbour.Namespace, 0)); err != nil {
		return err
	}
	about := metav1.ObjectMeta{Namespace: neighbour.Namespace, Name: neighbour.Name}
	other := &quotav1alpha1.FederatedQuota{ObjectMeta: about}
	if err := d.delete(ctx, fleet.HubName, other); err != nil {
		return err
	}
	return d.delete(ctx, fleet.HubName, poolOfBoth())
}

// untilUsed waits until a cluster uses as many cpus of the second team's budget.
func (d *display) untilUsed(ctx context.Context, cluster, cpus string) error {
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		quota := &corev1.ResourceQuota{}
		err := d.clients[cluster].Get(ctx, neighbour, quota)
		return err == nil && amount(quota.Status.Used, corev1.ResourceRequestsCPU) == cpus, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to use %s cpu of %s: %w", cluster, cpus, neighbour, err)
	}
	return nil
}

// untilPool reads a pool until all is as it should be.
func (d *display) untilPool(ctx context.Context, p *quotav1alpha1.QuotaPool, what string, done func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		err := d.clients[fleet.HubName].Get(ctx, client.ObjectKeyFromObject(p), p)
		return err == nil && done(), err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
