//go:build e2e

package clusterapi_test

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/observer"
)

// The namespaces of pooled.
const (
	web, batch = "team-web", "team-batch"
)

// pooled is a pool of two namespaces that follows the nodes of three clusters of unlike sizes, each of which may have
// machines of its own size.
type pooled struct {
	*scaling

	pool *quotav1alpha1.QuotaPool
	// replicas are the machines that are wanted, by MachineDeployment.
	replicas map[string]int32
}

// newPooled makes a pool of the nodes that are there. Nothing runs on them.
func newPooled(s *scaling) *pooled {
	s.Helper()
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	pool.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{}
	pool.Spec.Capacity = &quotav1alpha1.PoolCapacity{Capacity: quotav1alpha1.Capacity{
		Resources: []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(cpu)},
		ScaleOut: &quotav1alpha1.ScaleOut{
			MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"scale-out": inPool}},
			CooldownSeconds:           new(int32(5)),
		},
	}}
	p := &pooled{scaling: s, pool: pool, replicas: map[string]int32{}}
	for member, cpus := range map[string]string{east: "4", west: "8", north: "16"} {
		p.adds(&group{name: inPool + "-" + member, cluster: member, budget: inPool, most: 2, cpus: cpus})
		p.replicas[inPool+"-"+member] = 0
	}
	p.must(p.hub.Create(p.Context(), pool))
	for _, namespace := range []string{web, batch} {
		p.must(p.hub.Create(p.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		p.must(p.hub.Create(p.Context(), &quotav1alpha1.FederatedQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: budget.Name},
			Spec: quotav1alpha1.FederatedQuotaSpec{
				Hard: corev1.ResourceList{cpu: resource.MustParse("100")}, Pool: &quotav1alpha1.PoolReference{Name: "fleet"},
				Placement: quotav1alpha1.Placement{
					Clusters: []quotav1alpha1.ClusterName{east, west, north}, CreateNamespace: new(true),
				},
			},
		}))
	}
	p.observes()
	return p
}

// observes has an observer judge the pool: what is in force in all namespaces and members together.
func (p *pooled) observes() {
	p.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.has = cpusOf("38") // 14 in east, where one of the nodes takes no pods any more, 8 in west, and 16 in north
	options := observer.Options{
		Places: map[string]observer.Place{}, Budget: corev1.ResourceList{cpu: p.has[corev1.ResourceCPU]},
		Hub: p.Hub.Config, Ledgers: []observer.Ledger{{Kind: "QuotaPool", Name: p.pool.Name}},
		OnExcess: func(e observer.Excess) { p.Logf("EXCESS in the pool: %+v", e) },
	}
	for _, namespace := range []string{web, batch} {
		options.Ledgers = append(options.Ledgers,
			observer.Ledger{Kind: "FederatedQuota", Namespace: namespace, Name: budget.Name})
		for _, m := range p.Members {
			place := observer.Place{Config: m.Config, Namespace: namespace, Name: budget.Name}
			options.Places[namespace+" in "+m.Name] = place
		}
	}
	var err error
	p.observer, err = observer.Watch(context.WithoutCancel(p.Context()), options)
	p.must(err)
}

// fills has namespaces use all that the nodes have, and then ask for more, in west and in north.
func (p *pooled) fills() {
	p.Helper()
	p.sums("38")
	p.asks(east, web, "full", 7)
	p.asks(west, web, "full", 4)
	p.asks(north, batch, "full", 8)
	p.runs(east, web, "full", 7)
	p.runs(west, web, "full", 4)
	p.runs(north, batch, "full", 8)
	p.scaledTo(p.replicas)

	p.asks(west, batch, "more", 2)
	p.runs(west, batch, "more", 2)
	p.replicas["pool-west"] = 1
	p.scaledTo(p.replicas)
	p.sums("46")

	p.asks(north, web, "more", 6)
	p.runs(north, web, "more", 6)
	p.replicas["pool-north"] = 1
	p.scaledTo(p.replicas)
	p.sums("62")
	for _, line := range p.observer.Stop().Violations() {
		p.Errorf("the observer of the pool: %s", line)
	}
}

// asks makes a Deployment of pods of 2 cpus.
func (p *pooled) asks(member, namespace, name string, pods int32) {
	p.Helper()
	p.eventually("the limit of "+namespace+" in "+member, func(ctx context.Context) error {
		key := client.ObjectKey{Namespace: namespace, Name: budget.Name}
		return p.members[member].Get(ctx, key, &corev1.ResourceQuota{})
	})
	p.deploy(member, namespace, name, pods, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")})
}

// runs waits until so many pods of a Deployment run.
func (p *pooled) runs(member, namespace, name string, want int) {
	p.Helper()
	p.eventually(fmt.Sprintf("%d pods of %s in %s to run in %s", want, name, namespace, member),
		func(ctx context.Context) error {
			there, run, err := p.running(ctx, member, namespace, name)
			if err == nil && run != want {
				err = fmt.Errorf("%d are there, %d run; %s", there, run, p.told())
			}
			return err
		})
}

// scaledTo sees how many machines are wanted.
func (p *pooled) scaledTo(want map[string]int32) {
	p.Helper()
	got := map[string]int32{}
	for name := range want {
		replicas, err := p.world.replicas(p.Context(), name)
		p.must(err)
		got[name] = replicas
	}
	if !maps.Equal(got, want) {
		p.Errorf("machines that are wanted are %v, and should be %v", got, want)
	}
}

// sums waits until the pool is so many cpus.
func (p *pooled) sums(cpus string) {
	p.Helper()
	p.eventually("a pool of "+cpus+" cpus", func(context.Context) error {
		if hard := p.status().Hard[cpu]; hard.Cmp(resource.MustParse(cpus)) != 0 {
			return fmt.Errorf("it is %s", hard.String())
		}
		return nil
	})
}

// status returns that of the pool.
func (p *pooled) status() *quotav1alpha1.QuotaPoolStatus {
	p.Helper()
	p.must(p.hub.Get(p.Context(), client.ObjectKeyFromObject(p.pool), p.pool))
	return &p.pool.Status
}

// told is what the pool says of nodes, and of who has what.
func (p *pooled) told() string {
	status := p.status()
	cpus := func(list corev1.ResourceList) string { return list.Name(cpu, resource.DecimalSI).String() }
	words := fmt.Sprintf("of %s cpus, %s are used, and %s asked for; ", cpus(status.Hard), cpus(status.Used), cpus(status.Demand))
	if status.ScaleOut == nil {
		return words + "nothing is told of nodes"
	}
	return words + status.ScaleOut.Reason + ": " + status.ScaleOut.Message
}
