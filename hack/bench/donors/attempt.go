package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// each is what every member holds before an attempt, of CPUs and of GiB.
const each = 12

// cell are attempts under the same conditions.
type cell struct {
	// Namespaces says that the donors are in other namespaces, under one pool, and not in one budget.
	Namespaces bool `json:"namespaces"`

	Donors   int `json:"donors"`
	Busy     int `json:"busy"`
	Attempts int `json:"attempts"`
	Admitted int `json:"admitted"`
	// P50 and P99 are when the requests that were admitted were answered, in milliseconds after they were made.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// bench has one member ask for more than all donors but one could give.
type bench struct {
	*rig.Rig
	asks   string
	donors []string
	// quotas are one over all of them, or one over each, that of who asks first, below pool.
	quotas []*quotav1alpha1.FederatedQuota
	pool   *quotav1alpha1.QuotaPool
}

// start makes a budget over the member that asks and its donors, in a namespace of its own; or one for each of them, in
// namespaces of their own, and a pool that has no more than one budget would have.
func (b *bench) start(ctx context.Context, namespaces bool) error {
	clusters := append([]string{b.asks}, b.donors...)
	hard := amounts(each * len(clusters))
	if !namespaces {
		return b.share(ctx, fmt.Sprintf("donors-%d", len(b.donors)), hard, clusters...)
	}
	b.pool = &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("donors-%d", len(b.donors))}}
	b.pool.Spec.Hard, b.pool.Spec.AllowedNamespaces.Selector = hard, &metav1.LabelSelector{}
	if err := b.HubClient.Create(ctx, b.pool); err != nil {
		return err
	}
	for _, cluster := range clusters {
		if err := b.share(ctx, fmt.Sprintf("donors-%d-%s", len(b.donors), cluster), hard, cluster); err != nil {
			return err
		}
	}
	return nil
}

// share makes a FederatedQuota over clusters, in the pool if there is one.
func (b *bench) share(ctx context.Context, namespace string, hard corev1.ResourceList, clusters ...string) error {
	if err := b.HubClient.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	quota := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rig.QuotaName},
		Spec:       quotav1alpha1.FederatedQuotaSpec{Hard: hard},
	}
	if b.pool != nil {
		quota.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(b.pool.Name)}
	}
	for _, name := range clusters {
		if err := b.Namespace(ctx, name, namespace); err != nil {
			return err
		}
		quota.Spec.Placement.Clusters = append(quota.Spec.Placement.Clusters, quotav1alpha1.ClusterName(name))
	}
	b.quotas = append(b.quotas, quota)
	return b.HubClient.Create(ctx, quota)
}

// amounts is a list in which a request needs all names at once.
func amounts(n int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceRequestsCPU:    *resource.NewQuantity(int64(n), resource.DecimalSI),
		corev1.ResourceRequestsMemory: *resource.NewQuantity(int64(n)<<30, resource.BinarySI),
		corev1.ResourcePods:           *resource.NewQuantity(int64(n), resource.DecimalSI),
	}
}

// measure makes attempts, with so many loops that do nothing else beside them.
func (b *bench) measure(ctx context.Context, attempts, busy int) (*cell, error) {
	defer spin(busy)()
	c := &cell{Namespaces: b.pool != nil, Donors: len(b.donors), Busy: busy, Attempts: attempts}
	var took []time.Duration
	for n := range attempts {
		admitted, after, err := b.attempt(ctx, fmt.Sprintf("pod-%d", n))
		if err != nil {
			return nil, fmt.Errorf("attempt %d: %w", n, err)
		}
		if admitted {
			c.Admitted++
			took = append(took, after)
		}
	}
	c.P50, c.P99 = rig.Millis(rig.Percentile(took, 50)), rig.Millis(rig.Percentile(took, 99))
	return c, nil
}

// spin starts loops that take all the time they get, until the returned function is called.
func spin(loops int) (stop func()) {
	var done atomic.Bool
	var running sync.WaitGroup
	for range loops {
		running.Go(func() {
			for !done.Load() {
				runtime.Gosched()
			}
		})
	}
	return func() {
		done.Store(true)
		running.Wait()
	}
}

// attempt has all members hold the same, and one of them make a request that needs a part of what each donor holds.
func (b *bench) attempt(ctx context.Context, name string) (admitted bool, took time.Duration, err error) {
	for _, mode := range []quotav1alpha1.RebalanceMode{quotav1alpha1.RebalanceStatic, quotav1alpha1.RebalanceAuto} {
		if err := b.follow(ctx, mode); err != nil {
			return false, 0, err
		}
	}
	namespace := b.quotas[0].Namespace
	// In mode Static no request comes to the webhook.
	if err := b.Called(ctx, b.asks, namespace); err != nil {
		return false, 0, err
	}
	least := int64(each)
	for _, quota := range b.quotas {
		for _, c := range quota.Status.Clusters {
			granted := c.Granted[corev1.ResourceRequestsCPU]
			least = min(least, granted.Value())
		}
	}
	size := each*int64(len(b.donors)+1) - least/2
	pod := rig.Pod(namespace, name, fmt.Sprint(size))
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(size<<30, resource.BinarySI)
	began := time.Now()
	err = b.Clients[b.asks].Create(ctx, pod)
	took = time.Since(began)
	if apierrors.IsForbidden(err) {
		return false, took, nil
	}
	if err != nil {
		return false, took, err
	}
	return true, took, b.Clients[b.asks].Delete(ctx, pod)
}

// follow sets the mode, and waits until all members enforce what it gives them, use nothing and ask for nothing.
func (b *bench) follow(ctx context.Context, mode quotav1alpha1.RebalanceMode) error {
	if b.pool != nil {
		base := b.pool.DeepCopy()
		b.pool.Spec.Rebalance.Mode = mode
		if err := b.HubClient.Patch(ctx, b.pool, client.MergeFrom(base)); err != nil {
			return err
		}
	}
	for _, quota := range b.quotas {
		base := quota.DeepCopy()
		quota.Spec.Rebalance.Mode = mode
		if err := b.HubClient.Patch(ctx, quota, client.MergeFrom(base)); err != nil {
			return err
		}
	}
	return rig.Until(ctx, "all members to be at rest in mode "+string(mode), func(ctx context.Context) (bool, error) {
		for _, quota := range b.quotas {
			if rests, err := b.rests(ctx, quota, mode); err != nil || !rests {
				return false, err
			}
		}
		return b.knows(ctx)
	})
}

// rests says whether the members of a budget enforce what the mode gives them, use nothing and ask for nothing.
func (b *bench) rests(
	ctx context.Context, quota *quotav1alpha1.FederatedQuota, mode quotav1alpha1.RebalanceMode,
) (bool, error) {
	if err := b.HubClient.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil || !settled(quota, mode) {
		return false, err
	}
	for _, name := range quota.Spec.Placement.Clusters {
		if idle, err := b.idle(ctx, string(name), quota); err != nil || !idle {
			return false, err
		}
	}
	return true, nil
}

// settled says whether all members of a budget enforce what the mode gives them.
func settled(quota *quotav1alpha1.FederatedQuota, mode quotav1alpha1.RebalanceMode) bool {
	status := &quota.Status
	if status.ObservedGeneration != quota.Generation || len(status.Clusters) != len(quota.Spec.Placement.Clusters) {
		return false
	}
	for _, c := range status.Clusters {
		granted := c.Granted[corev1.ResourceRequestsCPU]
		equal := granted.Value() == each || mode == quotav1alpha1.RebalanceAuto
		if c.State != quotav1alpha1.ClusterSettled || !equal {
			return false
		}
	}
	return true
}

// knows says whether the pool, if there is one, has acted on its spec, and knows that nobody uses anything.
func (b *bench) knows(ctx context.Context) (bool, error) {
	if b.pool == nil {
		return true, nil
	}
	err := b.HubClient.Get(ctx, client.ObjectKeyFromObject(b.pool), b.pool)
	status := &b.pool.Status
	used, asked := status.Used[rig.CPU], status.Demand[rig.CPU]
	known := status.ObservedGeneration == b.pool.Generation && used.IsZero() && asked.IsZero()
	return known && status.Settled == fmt.Sprintf("%[1]d/%[1]d", len(b.quotas)), err
}

// idle says whether a member uses nothing of a budget and asks for nothing, by its ResourceQuota and by what the agent
// has told the hub.
func (b *bench) idle(ctx context.Context, member string, of *quotav1alpha1.FederatedQuota) (bool, error) {
	key := client.ObjectKeyFromObject(of)
	share, quota := &quotav1alpha1.QuotaShare{}, &corev1.ResourceQuota{}
	if err := errors.Join(b.Clients[member].Get(ctx, key, share), b.Clients[member].Get(ctx, key, quota)); err != nil {
		return false, err
	}
	counted, told, asked := quota.Status.Used[rig.CPU], share.Status.Used[rig.CPU], share.Status.Demand[rig.CPU]
	return counted.IsZero() && told.IsZero() && asked.IsZero(), nil
}
