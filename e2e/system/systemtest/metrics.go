package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

const (
	// scraperName is a service account that is bound to the role for metrics and to nothing else, and the name of that
	// binding.
	scraperName = "metrics-reader"
	// scrapeTimeout is how long a manager may take to serve its metrics.
	scrapeTimeout = 10 * time.Second
)

// Scraper returns a client that may read the metrics of the managers of a control plane, as a Prometheus there may.
func Scraper(t *testing.T, c *fleet.ControlPlane) *http.Client {
	t.Helper()
	cl, err := client.New(c.Config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "fedquota-system", Name: scraperName}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fedquota-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := errors.Join(cl.Create(t.Context(), account), cl.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir, scraperName+".kubeconfig")
	if err := c.ServiceAccountKubeconfig(t.Context(), account.Namespace, account.Name, path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	// Managers sign the certificate for their metrics themselves.
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	result, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Scrape reads the metrics of a manager.
func Scrape(ctx context.Context, by *http.Client, m system.Manager) (families map[string]*dto.MetricFamily, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.MetricsURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := by.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", m.Name, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics of %s: %s", m.Name, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// ValueOf returns the value of the series with these labels, of a histogram how much it has observed, and whether there
// is one.
func ValueOf(families map[string]*dto.MetricFamily, name string, labels map[string]string) (float64, bool) {
	for _, series := range families[name].GetMetric() {
		matching := 0
		for _, pair := range series.GetLabel() {
			if labels[pair.GetName()] == pair.GetValue() {
				matching++
			}
		}
		if matching == len(labels) {
			return series.GetGauge().GetValue() + series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}
