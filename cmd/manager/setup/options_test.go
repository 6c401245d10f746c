package setup

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/fleet"
)

const nowhere = `
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere}}]
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]`

// TestReadyOnceTheWebhookServes has a process without a certificate live and not be ready: API servers would call it in
// vain.
func TestReadyOnceTheWebhookServes(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(os.WriteFile(kubeconfig, []byte(nowhere), 0o600))
	t.Setenv("KUBECONFIG", kubeconfig)
	var ports [2]int
	for i := range ports {
		port, err := fleet.FreePort(t.Context())
		must(err)
		ports[i] = port
	}
	probes := "127.0.0.1:" + strconv.Itoa(ports[0])
	options := Options{Namespace: SystemNamespace, metricsAddress: "0", probeAddress: probes}
	webhook := Webhook{host: "127.0.0.1", Port: ports[1]}
	mgr, err := options.NewManager("fedquota-agent", cache.Options{}, webhook.Server())
	must(err)
	mgr.GetWebhookServer() // which is what adds it to the manager
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		must(<-ended)
	}()

	answers := func(path string, want int) {
		t.Helper()
		got := 0
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+probes+path, nil)
			if err != nil {
				return false, err
			}
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				got, err = response.StatusCode, response.Body.Close()
			}
			return err == nil && got == want, nil // it may not be served yet
		})
		if err != nil {
			t.Fatalf("%s answers %d, want %d", path, got, want)
		}
	}
	answers("/healthz", http.StatusOK)
	answers("/readyz", http.StatusInternalServerError)
	objects := fake.NewClientBuilder().WithScheme(schemes.All()).Build()
	webhook.Certificate.Client, webhook.Certificate.Live, webhook.Certificate.Clock = objects, objects, clock.RealClock{}
	webhook.Certificate.Namespace, webhook.Certificate.Secret, webhook.Certificate.Hosts = SystemNamespace, "cert", []string{"127.0.0.1"}
	must(webhook.Certificate.Ensure(ctx))
	answers("/readyz", http.StatusOK)
}
