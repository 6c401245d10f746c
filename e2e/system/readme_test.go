//go:build e2e

package system_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
)

// TestReadme has a newcomer paste the commands by which the README installs the product, over the overlay that the page
// about installing makes. No node runs the image: the same managers run as processes.
func TestReadme(t *testing.T) {
	t.Parallel()
	names := []string{"east", "west", "north"}
	var planes []fleet.ControlPlaneOptions
	for _, name := range names {
		planes = append(planes, fleet.ControlPlaneOptions{Name: name})
	}
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true, Fleet: fleet.Options{Members: planes}})
	i := &installed{T: t, system: s}
	i.connects()
	i.begins()
	folder := t.TempDir()
	config, err := filepath.Abs(filepath.Join("..", "..", "config"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(config, filepath.Join(folder, "config")); err != nil {
		t.Fatal(err)
	}
	pasted := func(commands string) string {
		command := exec.CommandContext(t.Context(), "sh", "-ec", commands)
		command.Dir = folder
		command.Env = append(os.Environ(), "KUBECONFIG="+s.Hub.Kubeconfig, "PATH="+os.Getenv(fleet.AssetsVariable)+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", commands, err, output)
		}
		return string(output)
	}
	pasted("mkdir -p overlay" + between(t, "docs/tasks/install.md", "```\nmkdir -p overlay", "```"))
	if err := os.WriteFile(filepath.Join(folder, "budget.yaml"), []byte(between(t, "README.md", "```yaml\n", "```")), 0o600); err != nil {
		t.Fatal(err)
	}
	last := ""
	for line := range strings.Lines(between(t, "README.md", "Then, on the hub:\n\n```\n", "```")) {
		if last = line; !strings.Contains(line, " NAME ") {
			t.Log(pasted(line))
			continue
		}
		for _, name := range names {
			t.Log(pasted(strings.Replace(line, " NAME ", " "+name+" ", 1)))
		}
	}
	for n, name := range names {
		member, err := system.Client(s.Members[n])
		if err != nil {
			t.Fatal(err)
		}
		i.eventually("the account of the agent in "+name, func(ctx context.Context) error {
			return member.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: "fedquota-agent"}, &corev1.ServiceAccount{})
		})
		if s.Agents[name], err = s.StartAgent(t.Context(), s.Members[n], system.Agent(name)); err != nil {
			t.Fatal(err)
		}
	}
	i.eventually("the budget to be ready", func(context.Context) error {
		if printed := pasted(last); !strings.Contains(printed, "True") {
			return fmt.Errorf("got %s", printed)
		}
		return nil
	})
	t.Log(pasted(last))
}

// between returns what stands in a file of the project after one text and before another one.
func between(t *testing.T, file, after, before string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begun := strings.Cut(string(content), after)
	found, _, ended := strings.Cut(rest, before)
	if !begun || !ended {
		t.Fatalf("%s has nothing after %q", file, after)
	}
	return found
}
