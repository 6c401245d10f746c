//go:build node

package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// agentsByRole returns the pod of the agent that leads, and the other one.
func (w *world) agentsByRole() (leader, follower corev1.Pod) {
	w.Helper()
	lease := &coordinationv1.Lease{}
	w.must(w.hub.Get(w.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "fedquota-agent"}, lease))
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	pods := w.pods("agent")
	if len(pods) != 2 {
		w.Fatalf("%d pods of the agent, want 2", len(pods))
	}
	if strings.HasPrefix(holder, pods[1].Name+"_") {
		return pods[1], pods[0]
	}
	if !strings.HasPrefix(holder, pods[0].Name+"_") {
		w.Fatalf("%s leads, which is neither %s nor %s", holder, pods[0].Name, pods[1].Name)
	}
	return pods[0], pods[1]
}

// crash kills the process of a pod of the system, and waits until kubelet has started it again.
func (w *world) crash(pod corev1.Pod) {
	w.Helper()
	pid := w.process(pod)
	w.must(syscall.Kill(pid, syscall.SIGKILL))
	w.eventually("the pod to be ready again", func(ctx context.Context) error {
		now := &corev1.Pod{}
		if err := w.hub.Get(ctx, client.ObjectKeyFromObject(&pod), now); err != nil {
			return err
		}
		if s := now.Status.ContainerStatuses[0]; s.RestartCount != 1 || !s.Ready {
			return fmt.Errorf("it is not: %+v", s)
		}
		return nil
	})
}

// process returns the id of the agent in a pod, by its command line and its cgroup. All processes that can be seen are
// the sandbox's.
func (w *world) process(pod corev1.Pod) int {
	w.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	w.must(err)
	for _, file := range files {
		groups, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(groups), "/pod"+string(pod.UID)+"/") {
			continue // of another pod, or ended
		}
		folder := filepath.Dir(file)
		command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err == nil && strings.HasPrefix(string(command), "/manager\x00agent\x00") { // the pause image's program has the name, too
			pid, err := strconv.Atoi(filepath.Base(folder))
			w.must(err)
			return pid
		}
	}
	w.Fatalf("pod %s runs no agent", pod.Name)
	return 0
}
