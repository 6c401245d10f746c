//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nodegroup"
)

// nodesEvery is how long each node takes to come in testGrowth.
var nodesEvery = flag.Duration("nodes-every", time.Second, "how long each node takes to come where nodes still may")

// mostMachines is how many machines of 2 cpus the MachineDeployment of testGrowth may have.
const mostMachines = 8

// few is how many pods more than nodes may come for may be admitted, by headroom while a node that has come and its pods
// are yet to be reported.
const few = 3

// testGrowth has north have one node of 2 cpus, and a MachineDeployment that may have 8. Pods that have waited in vain
// for a node hold back no others there up to what may still come: 16 are made at once, and get their nodes as these come.
func testGrowth(t *testing.T, w *world) {
	s := newScenario(t, w, "growth", budget("30", "60"))
	nodes := s.schedule(north, 1, "2100m") // the witness has its place
	s.reported(1, "2100m")
	machines := s.brings(north)
	s.mayCome(north, mostMachines-1)
	s.create(budget("30", "60"), following)
	s.settle()
	s.witness(1)
	s.deploy(north, "web", 6, "1")
	s.runs(north, "web", 6)
	s.waitsInVain(north, "web")

	s.must(s.tryScale(t.Context(), north, "web", 25))
	start := time.Now()
	s.atLeast(north, "web", 2*mostMachines)
	took := time.Since(start)
	s.Logf("%d pods are there after %s, 2 of them on nodes", 2*mostMachines, took.Round(100*time.Millisecond))
	began, most := time.Now(), s.most(north, "web")
	for i := int32(2); i <= mostMachines; i++ {
		pause(t.Context(), *nodesEvery)
		s.must(s.member(north).Create(t.Context(), nodes.Node(fmt.Sprintf("machine-%d", i))))
		s.has(machines, i)
	}
	s.eventually("all pods to have a node", func(ctx context.Context) error {
		bound, _, err := s.placed(ctx, north, "web")
		if err == nil && len(bound) < 2*mostMachines {
			err = fmt.Errorf("%d have one", len(bound))
		}
		return err
	})
	s.Logf("all have a node after %s, one node came every %s", time.Since(began).Round(time.Second), *nodesEvery)
	if pods := most(); pods > 2*mostMachines+few {
		s.Errorf("nodes may come for %d pods, and there were %d", 2*mostMachines, pods)
	} else {
		s.Logf("there were %d pods at most", pods)
	}
	s.undeploy(north, "web")
	s.finish()
}

// most counts the pods of a ReplicaSet all the time, and returns what tells the most that there were.
func (s *scenario) most(member, name string) (end func() int) {
	ctx, cancel := context.WithCancel(s.Context())
	var counting sync.WaitGroup
	most := 0
	counting.Go(func() {
		for ctx.Err() == nil {
			if pods, err := s.podsOf(ctx, member, name); err == nil {
				most = max(most, len(pods))
			}
			pause(ctx, 4*pollInterval)
		}
	})
	return func() int {
		cancel()
		counting.Wait()
		return most
	}
}

// brings makes a MachineDeployment of a member that has one machine of 2 cpus, for as long as the scenario lasts.
func (s *scenario) brings(member string) *clusterv1.MachineDeployment {
	s.Helper()
	d := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: member + "-workers", Annotations: map[string]string{
			clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: fmt.Sprint(mostMachines),
			nodegroup.CPUAnnotation: "2", nodegroup.MemoryAnnotation: "8Gi",
		}},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: member, Replicas: new(int32(1)),
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"workers": member}},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"workers": member}},
				Spec: clusterv1.MachineSpec{
					ClusterName: member, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("workers")},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{
						APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "StandInMachineTemplate", Name: "workers",
					},
				},
			},
		},
	}
	s.must(s.hub.Create(s.Context(), d))
	s.Cleanup(func() { s.must(client.IgnoreNotFound(s.hub.Delete(context.Background(), d))) })
	s.has(d, 1)
	return d
}

// has notes that so many machines of a MachineDeployment are wanted and are ready nodes, as Cluster API would.
func (s *scenario) has(d *clusterv1.MachineDeployment, machines int32) {
	s.Helper()
	d.Spec.Replicas = &machines
	s.must(s.hub.Update(s.Context(), d))
	d.Status.Replicas, d.Status.ReadyReplicas = &machines, &machines
	s.must(s.hub.Status().Update(s.Context(), d))
}

// mayCome waits until the hub knows that so many machines may still come to a member.
func (s *scenario) mayCome(member string, machines int32) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d machines that may come to %s", machines, member), func(ctx context.Context) error {
		report := &quotav1alpha1.ClusterCapacity{}
		err := s.hub.Get(ctx, client.ObjectKey{Namespace: "default", Name: member}, report)
		if err == nil && (report.Growth == nil || report.Growth.Machines == nil || *report.Growth.Machines != machines) {
			err = fmt.Errorf("it says %+v", report.Growth)
		}
		return err
	})
}

// waitsInVain has pods that find no node have waited for as long as it takes to hold back others: where nodes come
// sooner than that, by what their condition says.
func (s *scenario) waitsInVain(member, name string) {
	s.Helper()
	s.eventually("pods that have waited in vain", func(ctx context.Context) error {
		_, waited, err := s.placed(ctx, member, name)
		switch {
		case err != nil || waited >= nodePatience:
			return err
		case waited > 0 && *nodesEvery < nodePatience:
			return errors.Join(s.backdate(ctx, member, name), errors.New("their condition was set back"))
		}
		return fmt.Errorf("they have waited for %s", waited)
	})
}

// backdate has pods that find no node have found none for a minute.
func (s *scenario) backdate(ctx context.Context, member, name string) error {
	pods, err := s.podsOf(ctx, member, name)
	for i := range pods {
		stored := pods[i].DeepCopy()
		for j := range pods[i].Status.Conditions {
			if c := &pods[i].Status.Conditions[j]; c.Reason == corev1.PodReasonUnschedulable {
				c.LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Minute))
				err = errors.Join(err, s.member(member).Status().Patch(ctx, &pods[i], client.MergeFrom(stored)))
			}
		}
	}
	return err
}

// testPooledCapacity has a pool be half of what the nodes of north have: its team gets that, and more once a node comes.
func testPooledCapacity(t *testing.T, w *world) {
	hard := budget("20", "60")
	pool := newPool("nodes", hard)
	pool.Spec.Capacity = &quotav1alpha1.PoolCapacity{Capacity: quotav1alpha1.Capacity{
		Percent: new(int32(50)), Resources: []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(cpu)},
	}}
	w.withPool(t, pool)
	s := newScenario(t, w, "pool-capacity", hard)
	nodes := s.schedule(north, 2, "10")
	s.reported(2, "20")
	s.create(hard, following)
	s.settle()
	s.witness(1)
	s.enters(pool.Name)
	total := s.judged(pool.Name, budget("15", "60"))
	s.deploy(north, "web", 9, "1")
	s.runs(north, "web", 9) // beside three witnesses
	s.settle()              // native quota lets in a pod too many while limits rise
	s.must(s.tryScale(t.Context(), north, "web", 14))

	s.must(s.member(north).Create(t.Context(), nodes.Node("more")))
	took := s.runs(north, "web", 14)
	s.Logf("14 pods are there %s after the node was created", took.Round(100*time.Millisecond))
	s.undeploy(north, "web")
	total()
	s.leaves()
	s.finish()
}
