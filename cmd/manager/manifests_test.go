package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestManifests gives the commands the arguments that the manifests start them with.
func TestManifests(t *testing.T) {
	for part, command := range map[string]*cobra.Command{"default": newHubCommand(), "member": newAgentCommand()} {
		t.Run(part, func(t *testing.T) {
			args := deployment(t, filepath.Join("..", "..", "config", part, "manager.yaml")).Spec.Template.Spec.Containers[0].Args
			if len(args) == 0 || args[0] != command.Name() {
				t.Fatalf("args are %q, want those of the command %s", args, command.Name())
			}
			if err := command.ParseFlags(args[1:]); err != nil {
				t.Fatal(err)
			}
			if err := command.ValidateArgs(command.Flags().Args()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// deployment returns the first Deployment of a file.
func deployment(t *testing.T, path string) *appsv1.Deployment {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &appsv1.Deployment{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			t.Fatalf("%s has no Deployment", path)
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Kind == "Deployment" {
			return object
		}
	}
}
