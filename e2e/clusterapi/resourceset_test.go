//go:build e2e

package clusterapi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/bundle"
)

// installsByResourceSet has a ClusterResourceSet bring the manifests of the agent into members, as the page about
// installing says. What the test has put there is without the Deployment, by which it is seen.
func (w *world) installsByResourceSet() {
	w.Helper()
	folder, bin := w.TempDir(), filepath.Join("..", "..", "bin")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "install.md"))
	w.must(err)
	_, rest, begun := strings.Cut(string(page), "### Have GitOps install the agent")
	blocks := strings.Split(rest, "```\n")
	if !begun || len(blocks) < 4 {
		w.Fatal("the page has no commands")
	}
	bin, err = filepath.Abs(bin)
	w.must(err)
	for _, block := range []string{blocks[1], blocks[3]} {
		command := exec.CommandContext(w.Context(), "sh", "-ec", block)
		command.Dir = folder
		command.Env = append(os.Environ(), "KUBECONFIG="+w.Hub.Kubeconfig, "PATH="+bin+":"+os.Getenv(fleet.AssetsVariable)+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			w.Fatalf("%s\n%v\n%s", block, err, output)
		}
	}
	for name, member := range w.members {
		w.eventually("the Deployment of the agent in "+name, func(ctx context.Context) error {
			return member.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.DeploymentName}, &appsv1.Deployment{})
		})
	}
}
