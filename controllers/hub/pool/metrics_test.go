package pool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// exported are the metrics of pools, each as name{labels}.
func exported(t *testing.T) (map[string]float64, []*dto.MetricFamily) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found, own := map[string]float64{}, []*dto.MetricFamily{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "fedquota_pool_") {
			continue
		}
		own = append(own, family)
		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			found[strings.TrimPrefix(family.GetName(), "fedquota_pool_")+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue()
		}
	}
	return found, own
}

// TestMetrics exports a pool in debt by the conventions of Prometheus, and nothing of what has left its budget, or of a
// pool that is gone.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.announces("vision", "14")
	w.announces("speech", "15")
	w.round()
	got, families := exported(t)
	want := map[string]float64{
		"ready{pool=research}": 1, "budget{pool=research,resource=pods}": 24, "granted{pool=research,resource=pods}": 29,
		"used{pool=research,resource=pods}": 29, "demand{pool=research,resource=pods}": 0,
		"free{pool=research,resource=pods}": 0, "debt{pool=research,resource=pods}": 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	pool := &quotav1alpha1.QuotaPool{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "research"}, pool); err != nil {
		t.Fatal(err)
	}
	pool.Spec.Hard = corev1.ResourceList{"services": resource.MustParse("2")}
	if err := w.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	w.round()
	got, _ = exported(t)
	if _, stays := got["debt{pool=research,resource=pods}"]; stays || got["budget{pool=research,resource=services}"] != 2 {
		t.Errorf("after another budget: %v", got)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	pool.Finalizers = nil
	if err := w.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
		t.Fatal(err)
	}
	if got, _ = exported(t); len(got) > 0 {
		t.Errorf("of a pool that is gone: %v", got)
	}
}
