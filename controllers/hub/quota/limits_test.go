package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLimitsInForce exports what members say that they enforce, and not what they shall; of one that cannot be read what it was
// granted; and nothing of a budget that is gone.
func TestLimitsInForce(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.hub.Limits = &Limits{PerCluster: true}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.hub.Limits)
	exported := func() map[string]float64 {
		t.Helper()
		families, err := registry.Gather()
		w.must(err)
		if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		found := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				of := family.GetName()
				for _, label := range m.GetLabel() {
					if label.GetName() == "cluster" {
						of += " " + label.GetValue()
					}
				}
				found[of] = m.GetGauge().GetValue()
			}
		}
		return found
	}
	wants := func(when string, total, east, west float64) {
		t.Helper()
		want := map[string]float64{"fedquota_in_force": total, "fedquota_cluster_in_force east": east, "fedquota_cluster_in_force west": west}
		if diff := cmp.Diff(want, exported()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	const spec = `
placement: {clusterSelector: {}}
rebalance: {mode: Static}
hard: `
	w.create(quotaName, spec+`{pods: "20"}`)
	w.settle()
	wants("settled", 20, 10, 10)
	w.edit(spec + `{pods: "12"}`)
	w.round()
	wants("told to lower", 20, 10, 10)
	w.cutOff("west")
	w.settle()
	wants("with west cut off", 16, 6, 10)
	w.hub.Limits.forget(client.ObjectKeyFromObject(w.quota()))
	if got := exported(); len(got) > 0 {
		t.Errorf("of a budget that is gone it exports %v", got)
	}
}
