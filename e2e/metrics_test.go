package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
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

// metrics returns the lines of an API server's metrics.
func metrics(ctx context.Context, c *fleet.ControlPlane) ([]string, error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	body, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	return strings.Split(string(body), "\n"), err
}

// lastNumber is the value of a line of metrics.
func lastNumber(line string) int {
	value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
	if err != nil {
		return 0
	}
	return int(value)
}

// scraper returns a client that may read the metrics of the managers of a control plane, as a Prometheus there may.
func scraper(t *testing.T, c *fleet.ControlPlane) *http.Client {
	t.Helper()
	cl := clientOf(t, c.Config)
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

// scrape reads the metrics of a manager.
func (w *world) scrape(ctx context.Context, m system.Manager) (map[string]*dto.MetricFamily, error) {
	return scrape(ctx, w.scrapers[m.Of.Name], m)
}

func scrape(ctx context.Context, by *http.Client, m system.Manager) (families map[string]*dto.MetricFamily, err error) {
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

// valueOf returns the value of the series with these labels, of a histogram how much it has observed, and whether there
// is one.
func valueOf(families map[string]*dto.MetricFamily, name string, labels map[string]string) (float64, bool) {
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

// hubMetric returns the sum of a series over the hub managers that run, and how many of them have it.
func (s *scenario) hubMetric(ctx context.Context, name string, labels map[string]string) (total float64, served int, err error) {
	for _, hub := range s.Managers(s.Hub) {
		families, err := s.scrape(ctx, hub)
		if err != nil {
			return 0, 0, err
		}
		if value, ok := valueOf(families, name, labels); ok {
			total, served = total+value, served+1
		}
	}
	return total, served, nil
}

// measured says which resources are granted above the budget without a debt, as all hub managers tell by their metrics
// that have had to do with the quota, and of which none of them tells.
func (s *scenario) measured(ctx context.Context) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	told := map[corev1.ResourceName]bool{}
	var errs []error
	for _, hub := range s.Managers(s.Hub) {
		families, err := s.scrape(ctx, hub)
		if err != nil {
			return err
		}
		for name := range fq.Spec.Hard {
			known, err := within(families, fq, name)
			told[name] = told[name] || known
			errs = append(errs, err)
		}
	}
	for name := range fq.Spec.Hard {
		if !told[name] {
			errs = append(errs, fmt.Errorf("no hub manager tells how much of %s is granted", name))
		}
	}
	return errors.Join(errs...)
}

// within says whether metrics tell how much of a resource is granted, and if that is above the budget although there is
// no debt.
func within(families map[string]*dto.MetricFamily, fq *quotav1alpha1.FederatedQuota, name corev1.ResourceName) (known bool, err error) {
	labels := map[string]string{"namespace": fq.Namespace, "name": fq.Name, "resource": string(name)}
	granted, known := valueOf(families, "fedquota_granted", labels)
	budget, _ := valueOf(families, "fedquota_budget", labels)
	debt, _ := valueOf(families, "fedquota_debt", labels)
	indebted := apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionDebt)
	if granted > budget && debt == 0 || debt > 0 && !indebted {
		err = fmt.Errorf("%g of %g %s are granted, with a debt of %g", granted, budget, name, debt)
	}
	return known, err
}

// reachable waits until the hub manager tells by its metrics that a member can be read, or that it cannot.
func (s *scenario) reachable(member string, want float64) {
	s.Helper()
	s.eventually(fmt.Sprintf("fedquota_member_reachable of %s to be %g", member, want), func(ctx context.Context) error {
		got, served, err := s.hubMetric(ctx, "fedquota_member_reachable", map[string]string{"cluster": member})
		if err == nil && (served == 0 || got != want*float64(served)) {
			err = fmt.Errorf("the sum is %g over %d hub managers that tell", got, served)
		}
		return err
	})
}
