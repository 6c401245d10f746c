//go:build e2e

package clusterapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// machineDeployment has machines that have what its annotations say, and no bootstrap provider: any Secret does.
const machineDeployment = `
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: StandInMachineTemplate
metadata: {name: %[1]s, namespace: default}
spec: {template: {spec: {has: {%[2]s}, comes: %[3]t}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: %[1]s
  namespace: default
  labels: {scale-out: %[6]s}
  annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "%[4]d"
    quota.fedquota.io/scale-out: "%[8]s"
    capacity.cluster-autoscaler.kubernetes.io/memory: 64Gi
%[5]s
spec:
  clusterName: %[7]s
  replicas: 0
  selector: {matchLabels: {group: %[1]s}}
  template:
    metadata: {labels: {group: %[1]s}}
    spec:
      clusterName: %[7]s
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: StandInMachineTemplate, name: %[1]s}
`

// group is a MachineDeployment that may have so many machines, of so many cpus and GPUs. They come unless they are lost.
type group struct {
	name, cluster string
	// budget is the value of the label by which a budget selects it.
	budget     string
	most       int
	cpus, gpus string
	lost       bool
	// forPods says that it may be scaled for pods that wait for a node, too.
	forPods bool
}

// adds makes a MachineDeployment.
func (w *world) adds(g *group) {
	w.Helper()
	annotation := "    capacity.cluster-autoscaler.kubernetes.io/"
	says, has := annotation+"cpu: \""+g.cpus+"\"", "cpu: \""+g.cpus+"\""
	if g.gpus != "" {
		says += "\n" + annotation + "gpu-type: nvidia.com/gpu\n" + annotation + "gpu-count: \"" + g.gpus + "\""
		has += ", nvidia.com/gpu: \"" + g.gpus + "\""
	}
	permits := "true"
	if g.forPods {
		permits = "unscheduled"
	}
	w.creates(fmt.Sprintf(machineDeployment, g.name, has, !g.lost, g.most, says, g.budget, g.cluster, permits))
}

// machines plays the provider of machines: each becomes a node of its cluster after a while.
type machines struct {
	*world

	// takes is how long a machine takes to come. joins makes its node a node of a member.
	takes time.Duration
	joins func(ctx context.Context, member string, node *corev1.Node) error
}

// run plays until the test ends.
func (m *machines) run() {
	m.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, 4*poll, true, func(ctx context.Context) (bool, error) {
			if err := m.provide(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				m.Errorf("providing machines: %v", err)
			}
			return false, nil
		})
	})
	m.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// provide provides what is due.
func (m *machines) provide(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(infrastructure + "/v1")
	list.SetKind("StandInMachineList")
	if err := m.hub.List(ctx, list, client.InNamespace(clusterNamespace)); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		machine := &list.Items[i]
		comes, _, _ := unstructured.NestedBool(machine.Object, "spec", "comes")
		there, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
		if comes && there == "" && time.Since(machine.GetCreationTimestamp().Time) >= m.takes {
			errs = append(errs, m.bring(ctx, machine))
		}
	}
	return errors.Join(errs...)
}

// bring has a machine come.
func (m *machines) bring(ctx context.Context, machine *unstructured.Unstructured) error {
	has, _, err := unstructured.NestedStringMap(machine.Object, "spec", "has")
	if err != nil {
		return err
	}
	capacity := corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	for name, value := range has {
		capacity[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	id := "standin://" + machine.GetName()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: machine.GetName()},
		Spec:       corev1.NodeSpec{ProviderID: id},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	member := machine.GetLabels()[clusterv1.ClusterNameLabel]
	if err := client.IgnoreAlreadyExists(m.joins(ctx, member, node)); err != nil {
		return err
	}
	provisioned := fmt.Appendf(nil, `{"status":{"initialization":{"provisioned":true}}}`)
	if err := m.hub.Status().Patch(ctx, machine, client.RawPatch(types.MergePatchType, provisioned)); err != nil {
		return err
	}
	return m.hub.Patch(ctx, machine, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"providerID":%q}}`, id)))
}

// replicas returns how many machines of a group are wanted.
func (w *world) replicas(ctx context.Context, name string) (int32, error) {
	d := &clusterv1.MachineDeployment{}
	if err := w.hub.Get(ctx, client.ObjectKey{Namespace: clusterNamespace, Name: name}, d); err != nil {
		return 0, err
	}
	if d.Spec.Replicas == nil {
		return 0, errors.New("nobody has said how many")
	}
	return *d.Spec.Replicas, nil
}

// machinesOf returns how many Machines of a group there are.
func (w *world) machinesOf(ctx context.Context, name string) (int, error) {
	list := &clusterv1.MachineList{}
	err := w.hub.List(ctx, list, client.InNamespace(clusterNamespace), client.MatchingLabels{"group": name})
	return len(list.Items), err
}

// nodesOf returns how many nodes of a group east has that are ready.
func (w *world) nodesOf(ctx context.Context, name string) (count int, err error) {
	list := &corev1.NodeList{}
	if err := w.members[east].List(ctx, list); err != nil {
		return 0, err
	}
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if strings.HasPrefix(list.Items[i].Name, name) && c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				count++
			}
		}
	}
	return count, nil
}
