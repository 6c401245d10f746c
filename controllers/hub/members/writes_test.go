package members

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// written returns how often members were written to, by verb, resource and code, and has that keep the conventions of
// Prometheus.
func written(t *testing.T) map[[3]string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(writes)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	found := map[[3]string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			by := map[string]string{}
			for _, label := range m.GetLabel() {
				by[label.GetName()] = label.GetValue()
			}
			found[[3]string{by["verb"], by["resource"], by["code"]}] = m.GetCounter().GetValue()
		}
	}
	return found
}

// answers is the code that each request is answered with, or 0: then none is.
type answers int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a == 0 {
		return nil, errors.New("no connection")
	}
	return &http.Response{StatusCode: int(a)}, nil
}

// TestCounting counts what writes an object by what it was answered, and neither what reads, nor what stores nothing, nor
// what asks for no object.
func TestCounting(t *testing.T) {
	const shares = "/apis/quota.fedquota.io/v1alpha1/namespaces/team/quotashares"
	for name, c := range map[string]struct {
		method, path string
		code         answers
		want         map[[3]string]float64
	}{
		"a share is created":      {http.MethodPost, shares, 201, map[[3]string]float64{{"create", "quotashares", "201"}: 1}},
		"a share is refused":      {http.MethodPatch, shares + "/compute?fieldManager=fedquota-hub", 422, map[[3]string]float64{{"patch", "quotashares", "422"}: 1}},
		"nobody answers":          {http.MethodPatch, shares + "/compute", 0, map[[3]string]float64{{"patch", "quotashares", "none"}: 1}},
		"a namespace is created":  {http.MethodPost, "/api/v1/namespaces", 201, map[[3]string]float64{{"create", "namespaces", "201"}: 1}},
		"a token is asked for":    {http.MethodPost, "/api/v1/namespaces/s/serviceaccounts/fedquota-hub/token", 201, map[[3]string]float64{{"create", "serviceaccounts/token", "201"}: 1}},
		"an object is removed":    {http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/clusterroles/r", 200, map[[3]string]float64{{"delete", "clusterroles", "200"}: 1}},
		"a share is read":         {http.MethodGet, shares + "/compute", 200, map[[3]string]float64{}},
		"nothing is to be stored": {http.MethodPost, shares + "?dryRun=All", 201, map[[3]string]float64{}},
		"no object is asked for":  {http.MethodPost, "/", 200, map[[3]string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			writes.Reset()
			_, _ = counting{c.code}.RoundTrip(httptest.NewRequest(c.method, c.path, nil)) //nolint:bodyclose // there is none
			if diff := cmp.Diff(c.want, written(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWritesAreCounted has connections count, that of the hub's account and that of the kubeconfig.
func TestWritesAreCounted(t *testing.T) {
	m := link(t)
	writes.Reset()
	m.installs(kinds...)
	if got := written(t)[[3]string{"patch", "serviceaccounts", "201"}]; got != 1 {
		t.Errorf("%v ServiceAccounts were made with the kubeconfig, want 1", got)
	}
	_, err := m.as.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "counted-"}}, metav1.CreateOptions{})
	m.must(err)
	got := written(t)
	if got[[3]string{"create", "namespaces", "201"}] != 1 || got[[3]string{"create", "serviceaccounts/token", "201"}] != 1 {
		t.Errorf("by the hub's account were made: %v", got)
	}
}
