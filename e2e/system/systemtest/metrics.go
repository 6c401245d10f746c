package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// scrapeTimeout is how long a manager may take to serve its metrics.
const scrapeTimeout = 10 * time.Second

// Scraper returns a client that may read the metrics of the managers of a control plane.
func Scraper(t *testing.T, c *fleet.ControlPlane) *http.Client {
	t.Helper()
	by, err := system.Scraper(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return by
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
