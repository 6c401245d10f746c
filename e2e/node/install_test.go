//go:build node

package node_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// installHub does what docs/tasks/install.md tells an administrator: its commands make the overlay, which is applied.
func (w *world) installHub(tag string) {
	w.Helper()
	folder := w.TempDir()
	w.must(os.CopyFS(filepath.Join(folder, "config"), os.DirFS(filepath.Join(w.root, "config"))))
	page, err := os.ReadFile(filepath.Join(w.root, "docs", "tasks", "install.md"))
	w.must(err)
	const fence = "```"
	_, rest, begun := strings.Cut(string(page), fence+"\nmkdir -p overlay")
	commands, _, ended := strings.Cut(rest, fence)
	if !begun || !ended {
		w.Fatal("docs/tasks/install.md has no commands that begin with mkdir -p overlay")
	}
	commands = strings.NewReplacer("REGISTRY/fedquota", repository, "v0.1.0", tag).Replace("mkdir -p overlay" + commands)
	w.run(folder, "sh", "-ec", commands)
	w.kubectl("apply", "-k", filepath.Join(folder, "overlay"))
	w.rolledOut("fedquota-hub", repository+":"+tag)
}

// runWestAgent runs the agent of west as a process, since west has no nodes, with the rights that the hub gave it there.
func (w *world) runWestAgent() {
	w.Helper()
	plane := w.Member(west)
	w.eventually("the hub to install the agent in west", func(ctx context.Context) error {
		return w.west.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "fedquota-agent"}, &corev1.ServiceAccount{})
	})
	kubeconfig := filepath.Join(plane.Dir, "agent.kubeconfig")
	w.must(plane.ServiceAccountKubeconfig(w.Context(), systemNamespace, "fedquota-agent", kubeconfig))
	_, err := w.Fleet.Run(w.Context(), fleet.Program{
		Name: "agent-west",
		Path: filepath.Join(w.root, "bin", "manager"),
		Args: []string{"agent", "--kubeconfig=" + kubeconfig, "--leader-elect=false"},
	})
	w.must(err)
}
