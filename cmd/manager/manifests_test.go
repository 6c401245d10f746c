package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fedquota/fedquota/cmd/manager/agent"
	"github.com/fedquota/fedquota/cmd/manager/hub"
	"github.com/fedquota/fedquota/cmd/manager/setup"
	hubwebhookconfig "github.com/fedquota/fedquota/controllers/hub/webhookconfig"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
)

// TestManifests gives the commands the arguments that the manifests start them with.
func TestManifests(t *testing.T) {
	for part, command := range map[string]*cobra.Command{"default": hub.NewCommand(""), "member": agent.NewCommand()} {
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

// TestProvidedCertificates has cert-manager make the certificates that the webhooks are served with, under a flag that
// there is.
func TestProvidedCertificates(t *testing.T) {
	for part, tt := range map[string]struct {
		command         *cobra.Command
		service, secret string
	}{
		"hub":    {hub.NewCommand(""), "fedquota-hub", hubwebhookconfig.SecretName},
		"member": {agent.NewCommand(), "fedquota-agent", webhookconfig.SecretName},
	} {
		t.Run(part, func(t *testing.T) {
			dir := filepath.Join("..", "..", "config", "certmanager", part)
			component, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			flag := regexp.MustCompile(`value: (--[a-z-]+)`).FindSubmatch(component)
			if flag == nil {
				t.Fatal("the component gives the manager no flag")
			}
			if err := tt.command.ParseFlags([]string{string(flag[1])}); err != nil {
				t.Error(err)
			}
			hosts, err := (&setup.Webhook{}).Hosts(tt.service, "fedquota-system")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(hosts, certificates(t, filepath.Join(dir, "certificate.yaml"))[tt.secret]); diff != "" {
				t.Errorf("names of the certificate in Secret %s (-want +got):\n%s", tt.secret, diff)
			}
		})
	}
}

// certificates returns the names that the Certificates of a file are good for, by the Secret that holds them.
func certificates(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	names := map[string][]string{}
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var object struct {
			Kind string
			Spec struct {
				SecretName string
				DNSNames   []string
			}
		}
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Kind == "Certificate" {
			names[object.Spec.SecretName] = object.Spec.DNSNames
		}
	}
}
