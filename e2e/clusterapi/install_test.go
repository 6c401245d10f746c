//go:build e2e

package clusterapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// served is where the webhooks of Cluster API are served, and by which certificate.
type served struct {
	port      int
	cert, key []byte
}

// client is how an API server is told to call a path of them.
func (s *served) client(path any) map[string]any {
	return map[string]any{
		"url": fmt.Sprintf("https://127.0.0.1:%d%s", s.port, path), "caBundle": base64.StdEncoding.EncodeToString(s.cert),
	}
}

// installClusterAPI installs Cluster API's core on the hub as its manifests say, but for its webhooks, which a process
// of this machine serves, and runs its manager as the account that they make.
func (w *world) installClusterAPI(root string) {
	w.Helper()
	version, kustomization, err := fleet.ClusterAPI(w.Context())
	w.must(err)
	webhooks := &served{}
	webhooks.cert, webhooks.key, err = certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	w.must(err)
	webhooks.port, err = fleet.FreePort(w.Context())
	w.must(err)
	objects, err := system.Render(w.Context(), filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), kustomization)
	w.must(err)
	for _, object := range objects {
		if webhooks.leads(object) {
			w.must(w.hub.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("clusterctl"), client.ForceOwnership))
		}
	}
	w.eventually("the kinds of Cluster API", func(ctx context.Context) error { return w.hub.List(ctx, &clusterv1.MachinePoolList{}) })
	w.runClusterAPI(filepath.Join(root, "bin", "clusterapi", version, "cluster-api"), webhooks)
}

// leads has an object lead to the webhooks, and says whether it is to be installed: the manager and its certificate are
// a process and a file here.
func (s *served) leads(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "Deployment", "Service", "Certificate", "Issuer":
		return false
	case "CustomResourceDefinition":
		_ = unstructured.SetNestedMap(object.Object, s.client("/convert"), "spec", "conversion", "webhook", "clientConfig")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, webhook := range object.Object["webhooks"].([]any) {
			path, _, _ := unstructured.NestedString(webhook.(map[string]any), "clientConfig", "service", "path")
			webhook.(map[string]any)["clientConfig"] = s.client(path)
		}
	}
	return true
}

// runClusterAPI starts Cluster API's manager, and waits until it serves its webhooks.
func (w *world) runClusterAPI(program string, webhooks *served) {
	w.Helper()
	if _, err := os.Stat(program); err != nil {
		w.Fatalf("make clusterapi has not built the version that go.mod requires: %v", err)
	}
	certs := filepath.Join(w.Hub.Dir, "clusterapi-certs")
	w.must(os.MkdirAll(certs, 0o700))
	w.must(os.WriteFile(filepath.Join(certs, "tls.crt"), webhooks.cert, 0o600))
	w.must(os.WriteFile(filepath.Join(certs, "tls.key"), webhooks.key, 0o600))
	kubeconfig := filepath.Join(w.Hub.Dir, "clusterapi.kubeconfig")
	w.must(w.Hub.ServiceAccountKubeconfig(w.Context(), "capi-system", "capi-manager", kubeconfig))
	port, err := fleet.FreePort(w.Context())
	w.must(err)
	health := fmt.Sprintf("127.0.0.1:%d", port)
	w.manager, err = w.System.Run(w.Context(), fleet.Program{
		Name: "clusterapi",
		Path: program,
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--webhook-cert-dir=" + certs, fmt.Sprintf("--webhook-port=%d", webhooks.port),
			"--health-addr=" + health, "--diagnostics-address=127.0.0.1:0", "--feature-gates=ClusterTopology=true",
		},
		Ready: func(ctx context.Context) error { return healthy(ctx, "http://"+health+"/readyz") },
	})
	w.must(err)
}

// healthy asks a server whether it is ready.
func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing of it is read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
