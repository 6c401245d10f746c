package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/nodegroup"
)

// growing is the budget that follows the nodes of a member.
var growing = types.NamespacedName{Namespace: "team-c", Name: quotaKey.Name}

// machine is what each node has.
var machine = corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
	corev1.ResourcePods: resource.MustParse("110"),
}

// permit gives the hub manager the right to scale MachineDeployments.
func permit(ctx context.Context, d *display) error {
	kubectl := filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl")
	objects, err := system.Render(ctx, kubectl, filepath.Join(d.root, "config", "rbac", "hub-scaleout"))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := d.create(ctx, fleet.HubName, object); err != nil {
			return err
		}
	}
	return nil
}

// nodes has what a team asks for bring a node. The demo plays what makes machines; KWOK plays kubelets.
func (d *display) nodes(ctx context.Context, _ string) (err error) {
	d.say("act 11: north gets a node of 4 cpu, and may have 2 more. The budget of team-c is what nodes can run there")
	stages, err := fleet.KWOKStages(ctx, filepath.Join(d.root, "hack", "tools"))
	if err != nil {
		return err
	}
	nodes := fleet.Nodes{
		KWOK: filepath.Join(d.root, "bin", "tools", "kwok"), Stages: stages, Count: 1, Capacity: machine,
	}
	if _, err := d.system.Member("north").Schedule(ctx, nodes); err != nil {
		return err
	}
	if err := permit(ctx, d); err != nil {
		return err
	}
	workers := machineDeployment()
	for _, object := range []client.Object{
		workers, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: growing.Namespace}}, followsNodes(),
	} {
		if err := d.create(ctx, fleet.HubName, object); err != nil {
			return err
		}
	}
	if err := d.grows(ctx, workers, &nodes); err != nil {
		return err
	}
	return d.answer(ctx, fleet.HubName, "describe", growing.Name, "--show-events=false", "-n", growing.Namespace)
}

// grows has more be asked for than the node can run, and brings the machine that the hub manager asks for.
func (d *display) grows(ctx context.Context, workers *clusterv1.MachineDeployment, nodes *fleet.Nodes) error {
	if err := d.ready(ctx, workers); err != nil {
		return err
	}
	if err := d.made(ctx, "4"); err != nil {
		return err
	}
	d.say("       team-c runs 6 replicas of 1 cpu in north")
	began := time.Now()
	if err := d.create(ctx, "north", deployment(growing.Namespace, 6)); err != nil {
		return err
	}
	asked := func(ctx context.Context) (bool, error) {
		err := d.clients[fleet.HubName].Get(ctx, client.ObjectKeyFromObject(workers), workers)
		return err == nil && *workers.Spec.Replicas == 2, err
	}
	if err := wait.PollUntilContextTimeout(ctx, interval, patience, true, asked); err != nil {
		return fmt.Errorf("waiting for the hub manager to ask for a machine: %w", err)
	}
	d.say(fmt.Sprintf("       after %.1f s the hub manager asks for a machine, and it comes", time.Since(began).Seconds()))
	if err := d.create(ctx, "north", nodes.Node("north-1")); err != nil {
		return err
	}
	if err := d.ready(ctx, workers); err != nil {
		return err
	}
	if err := d.made(ctx, "8"); err != nil {
		return err
	}
	if err := d.untilRunning(ctx, 6); err != nil {
		return err
	}
	d.say(fmt.Sprintf("       the budget has followed, and all 6 run after %.1f s", time.Since(began).Seconds()))
	return nil
}

// untilRunning waits until so many pods of the team run.
func (d *display) untilRunning(ctx context.Context, want int) error {
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := d.clients["north"].List(ctx, &pods, client.InNamespace(growing.Namespace))
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == want, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %d pods of team-c to run: %w", want, err)
	}
	return nil
}

// made waits until the budget is so many cpus, and north has a limit.
func (d *display) made(ctx context.Context, cpus string) error {
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := d.clients[fleet.HubName].Get(ctx, growing, fq); err != nil {
			return false, err
		}
		err := d.clients["north"].Get(ctx, growing, &corev1.ResourceQuota{})
		return err == nil && amount(fq.Status.Hard, corev1.ResourceRequestsCPU) == cpus, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for a budget of %s cpu: %w", cpus, err)
	}
	return nil
}

// ready says of all machines that are wanted that they are nodes, as Cluster API would.
func (d *display) ready(ctx context.Context, workers *clusterv1.MachineDeployment) error {
	workers.Status.Replicas, workers.Status.ReadyReplicas = workers.Spec.Replicas, workers.Spec.Replicas
	return d.clients[fleet.HubName].Status().Update(ctx, workers)
}

// machineDeployment is one of north that has the node which is there, and may have 3.
func machineDeployment() *clusterv1.MachineDeployment {
	labels := map[string]string{"pool": "shared"}
	infrastructure := clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DemoMachineTemplate", Name: "workers",
	}
	return &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "north-workers", Labels: labels,
			Annotations: map[string]string{
				quotav1alpha1.ScaleOutAnnotation:      "true",
				clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: "3",
				nodegroup.CPUAnnotation: "4", nodegroup.MemoryAnnotation: "16Gi",
			},
		},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: "north", Replicas: new(int32(1)), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: "north", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("workers")},
					InfrastructureRef: infrastructure,
				},
			},
		},
	}
}

// followsNodes is a budget of what the nodes of north can run, which may bring more of them.
func followsNodes() *quotav1alpha1.FederatedQuota {
	return &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: growing.Namespace, Name: growing.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Placement: quotav1alpha1.Placement{
				Clusters: []quotav1alpha1.ClusterName{"north"}, CreateNamespace: new(true),
			},
			Capacity: &quotav1alpha1.Capacity{
				Resources: []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(corev1.ResourceRequestsCPU)},
				ScaleOut: &quotav1alpha1.ScaleOut{
					MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "shared"}},
				},
			},
		},
	}
}
