package quota

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"
)

// TestSeriesOfNamesThatLeave has no series stay when its name leaves the budget, or the FederatedQuota is gone.
func TestSeriesOfNamesThatLeave(t *testing.T) {
	w := newWorld(t, "east")
	// names returns those that have series, and removes these: the next round makes them again.
	names := func() []string {
		var found []string
		for _, name := range []string{"pods", "services"} {
			if debt.DeletePartialMatch(prometheus.Labels{"namespace": w.namespace, "name": quotaName, "resource": name}) > 0 {
				found = append(found, name)
			}
		}
		return found
	}
	w.create(quotaName, `{hard: {pods: "30", services: "5"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	if diff := cmp.Diff([]string{"pods", "services"}, names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.round()
	w.edit(`{hard: {pods: "30"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	if diff := cmp.Diff([]string{"pods"}, names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.round()
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	w.settle()
	if left := names(); len(left) > 0 {
		t.Errorf("series of a FederatedQuota that is gone: %v", left)
	}
}

// TestAlerts has alerts name metrics that there are.
func TestAlerts(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ready.WithLabelValues("alerts", "alerts").Set(1) // a vector without series is not gathered
	debt.WithLabelValues("alerts", "alerts", "pods").Set(1)
	memberReachable.WithLabelValues("alerts").Set(1)
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, family := range families {
		known[family.GetName()] = true
	}
	var rule struct {
		Spec struct {
			Groups []struct{ Rules []struct{ Expr string } }
		}
	}
	if err := yaml.Unmarshal(content, &rule); err != nil {
		t.Fatal(err)
	}
	for _, r := range rule.Spec.Groups[0].Rules {
		names := regexp.MustCompile(`fedquota_[a-z_]+`).FindAllString(r.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%q names no metric", r.Expr)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%q names %s, which nobody exports", r.Expr, name)
			}
		}
	}
}

// TestSettle measures from the first decision, whatever is decided before that has settled; a hub manager that has just
// started has seen none.
func TestSettle(t *testing.T) {
	h, now := &history{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if took, ok := h.settle(now, false, true); ok {
		t.Errorf("took %s, though nothing was decided", took)
	}
	h.settle(now, true, false)
	h.settle(now.Add(time.Second), true, false)
	if took, ok := h.settle(now.Add(3*time.Second), false, true); !ok || took != 3*time.Second {
		t.Errorf("took %s, %t, want 3 s", took, ok)
	}
	if took, ok := h.settle(now.Add(4*time.Second), false, true); ok {
		t.Errorf("took %s once more", took)
	}
}
