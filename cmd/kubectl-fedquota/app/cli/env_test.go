package cli

import (
	"errors"
	"path/filepath"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNoKubeconfig says so where nothing tells the way to an API server, rather than to go where none is.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for server, want := range map[string]error{"": errNoKubeconfig, "http://localhost:8080": nil} {
		env := NewEnv(genericiooptions.NewTestIOStreamsDiscard())
		env.Connect = func(*rest.Config) (client.WithWatch, error) { return nil, nil }
		*env.Config.APIServer = server
		if _, err := env.Client(); !errors.Is(err, want) {
			t.Errorf("--server=%q: %v, want %v", server, err, want)
		}
	}
}
