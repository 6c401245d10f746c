//go:build e2e

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/observer"
)

// row is what the plugin says of one resource of a budget.
type row struct {
	Resource                            corev1.ResourceName
	Used, Demand, Granted, Budget, Free resource.Quantity
}

// agrees has metrics, page, plugin and observer say the same of a budget at rest.
func (w *world) agrees() {
	w.Helper()
	scraper := systemtest.Scraper(w.T, w.Hub)
	w.eventually("metrics, plugin and observer to agree", func(ctx context.Context) (bool, error) {
		families, err := systemtest.Scrape(ctx, scraper, w.Managers(w.Hub)[0])
		if err != nil {
			return false, err
		}
		rows, _ := w.rows()
		watched := w.watched()
		agree := len(rows) == 2
		for _, r := range rows {
			said := fmt.Sprint(approximate(r.Budget, r.Granted, r.Used, r.Demand, r.Free))
			var exported []float64
			for _, name := range []string{"budget", "granted", "used", "demand", "free"} {
				value, _ := systemtest.ValueOf(families, "fedquota_"+name, map[string]string{
					"namespace": team, "name": "compute", "resource": string(r.Resource),
				})
				exported = append(exported, value)
			}
			seen := watched[r.Resource]
			if said != fmt.Sprint(exported) || seen.Budget.Cmp(r.Budget) != 0 || seen.Last.Cmp(r.Granted) != 0 {
				w.Logf("%s: plugin %s, metrics %v, observer %s of %s", r.Resource, said, exported, seen.Last.String(), seen.Budget.String())
				agree = false
			}
		}
		return agree, nil
	})
}

// scrapes notes which of the metrics that dashboards and rules ask for all managers export now.
func (w *world) scrapes() {
	w.Helper()
	for name := range w.clients {
		scraper := systemtest.Scraper(w.T, w.plane(name))
		for _, m := range w.Managers(w.plane(name)) {
			families, err := systemtest.Scrape(w.Context(), scraper, m)
			w.must(err)
			w.asked.See(families)
		}
	}
}

// exports has all that dashboards and rules ask for be exported now, or have been when it was noted. Nodes are added
// elsewhere.
func (w *world) exports() {
	w.Helper()
	defer func() {
		if w.Failed() {
			w.Logf("nobody exports %q", w.asked.Missing(false))
		}
	}()
	w.eventually("all that dashboards ask for", func(context.Context) (bool, error) {
		w.scrapes()
		return len(w.asked.Missing(false)) == 0, nil
	})
}

// rows returns what the plugin says of the resources of the budget, and as it prints that.
func (w *world) rows() (rows []row, printed []string) {
	w.Helper()
	var budgets []struct{ Resources []json.RawMessage }
	w.must(json.Unmarshal([]byte(w.out(hub, "describe", "-o", "json")), &budgets))
	for _, raw := range budgets[0].Resources {
		var r row
		var line bytes.Buffer
		w.must(json.Unmarshal(raw, &r))
		w.must(json.Compact(&line, raw))
		rows, printed = append(rows, r), append(printed, line.String())
	}
	return rows, printed
}

// watched returns what the observer sees in the members.
func (w *world) watched() map[corev1.ResourceName]observer.ResourceReport {
	w.Helper()
	var report observer.Report
	w.must(json.Unmarshal([]byte(w.out(hub, "audit", "compute", "--for", "1s", "-o", "json")), &report))
	seen := map[corev1.ResourceName]observer.ResourceReport{}
	for _, r := range report.Resources {
		seen[r.Name] = r
	}
	return seen
}

func approximate(quantities ...resource.Quantity) []float64 {
	values := make([]float64, 0, len(quantities))
	for i := range quantities {
		values = append(values, quantities[i].AsApproximateFloat64())
	}
	return values
}
