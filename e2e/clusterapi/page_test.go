//go:build e2e

package clusterapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

// page runs a command on the hub, with budget.yaml at hand, and keeps what it prints where make fleet-docs finds it.
func (s *scaling) page(name, command string) string {
	s.Helper()
	root, here := systemtest.Root(s.T), s.TempDir()
	s.must(os.WriteFile(filepath.Join(here, "budget.yaml"), s.asFile(), 0o600))
	kubectl := exec.CommandContext(s.Context(), filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), strings.Fields(command)[1:]...)
	kubectl.Dir = here
	kubectl.Env = append(os.Environ(), "KUBECONFIG="+s.Hub.Kubeconfig, "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	printed, err := kubectl.CombinedOutput()
	if err != nil {
		s.Errorf("%s: %v", command, err)
	}
	s.Logf("%s\n%s", command, printed)
	folder := filepath.Join(root, "bin", "e2e", "fleet")
	s.must(os.MkdirAll(folder, 0o750))
	content := "$ " + command + "\n" + strings.TrimRight(string(printed), "\n") + "\n"
	s.must(os.WriteFile(filepath.Join(folder, name+".txt"), []byte(content), 0o600))
	return string(printed)
}

// asFile is the budget as somebody applies it.
func (s *scaling) asFile() []byte {
	s.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: quotav1alpha1.GroupVersion.String(), Kind: "FederatedQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name}, Spec: s.budget().Spec,
	}
	content, err := yaml.Marshal(fq)
	s.must(err)
	return content
}

// onlySays has the budget say which step it would take, or take it.
func (s *scaling) onlySays(dryRun bool) {
	s.Helper()
	s.patches(s.budget(), `{"spec":{"capacity":{"scaleOut":{"dryRun":%t}}}}`, dryRun)
}

// prints demands pieces of what a command has printed.
func (s *scaling) prints(printed string, pieces ...string) {
	s.Helper()
	for _, piece := range pieces {
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), piece) {
			s.Errorf("%q is not printed:\n%s", piece, printed)
		}
	}
}
