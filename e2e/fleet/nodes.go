package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// Schedule gives a control plane that has none kube-scheduler and nodes, until the returned function ends them.
func (c *ControlPlane) Schedule(ctx context.Context, nodes Nodes) (end func(context.Context) error, err error) {
	c.options.Nodes = &nodes
	if err = c.startScheduler(ctx); err == nil {
		err = c.startNodes(ctx)
	}
	return c.unschedule, err
}

// unschedule ends kube-scheduler and KWOK and removes all nodes.
func (c *ControlPlane) unschedule(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	c.options.Nodes = nil
	err = errors.Join(c.endProcess(Scheduler), c.endProcess(KWOK))
	return errors.Join(err, client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// endProcess ends a process of the control plane, if it has it, and forgets it.
func (c *ControlPlane) endProcess(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	c.processes = slices.DeleteFunc(c.processes, func(p *Process) bool {
		if p.Name == name {
			err = p.Kill()
		}
		return p.Name == name
	})
	return err
}

// startNodes starts KWOK, makes the nodes, and waits until pods can be scheduled to all of them.
func (c *ControlPlane) startNodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	kwok, err := c.kwok()
	if err != nil {
		return err
	}
	p, err := c.startProcess(ctx, kwok)
	if err != nil {
		return err
	}
	for i := range c.options.Nodes.Count {
		node := c.options.Nodes.Node(fmt.Sprintf("%s-%d", c.Name, i))
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	err = wait.PollUntilContextTimeout(ctx, pollInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		return nodesReady(ctx, client)
	})
	if err != nil {
		return fmt.Errorf("nodes are not ready: %w; %s's log %s ends with:\n%s", err, p.Name, p.LogPath, p.tail())
	}
	return nil
}

// kwok is the command of KWOK.
func (c *ControlPlane) kwok() (command, error) {
	path, err := filepath.Abs(c.options.Nodes.KWOK)
	args := []string{"--kubeconfig=" + c.Kubeconfig, "--manage-all-nodes", "--node-lease-duration-seconds=40"}
	for _, stage := range c.options.Nodes.Stages {
		args = append(args, "--config="+stage)
	}
	return command{name: KWOK, path: path, args: args, dir: c.Dir}, err
}

// Node returns a node as a kubelet registers it.
func (n *Nodes) Node(name string) *corev1.Node {
	capacity := n.Capacity
	if capacity == nil {
		capacity = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("32"),
			corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: n.Labels},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// nodesReady tells whether all nodes are ready and none repels pods.
func nodesReady(ctx context.Context, client kubernetes.Interface) (bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, node := range nodes.Items {
		if len(node.Spec.Taints) > 0 || !isReady(node.Status.Conditions) {
			return false, nil
		}
	}
	return true, nil
}

// isReady tells whether the conditions say that a node is ready.
func isReady(conditions []corev1.NodeCondition) bool {
	for _, c := range conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
