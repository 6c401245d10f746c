package agent

import (
	"net/http"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fedquota/fedquota/cmd/manager/setup"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/share"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestWebhookWithoutCertificate sets up an agent that can neither read nor write the certificate's Secret: it enforces
// limits all the same.
func TestWebhookWithoutCertificate(t *testing.T) {
	scheme := schemes.All()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			return apimeta.NewDefaultRESTMapper(nil), nil
		},
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &informertest.FakeInformers{Scheme: scheme}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	webhook := &setup.Webhook{Port: 9443}
	if err := serve(t.Context(), mgr, setup.SystemNamespace, webhook, &share.Reconciler{Demand: &memberdemand.Demand{Book: demand.NewBook()}}); err != nil {
		t.Error(err)
	}
}
