// Package exporter has the hub manager that leads export budgets as metrics. It reads them from the cache when it is
// asked: they say what status says, and nothing has to be forgotten.
package exporter

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// patience is how long the cache may take to be there.
const patience = 5 * time.Second

// Add has the manager export what a collector collects, as long as it leads.
func Add(mgr ctrl.Manager, collector prometheus.Collector) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := metrics.Registry.Register(collector); err != nil {
			return err
		}
		<-ctx.Done()
		metrics.Registry.Unregister(collector)
		return nil
	}))
}

// list lists objects that nobody changes. If that fails, the scrape does.
func list(
	reader client.Reader, objects client.ObjectList, failed *prometheus.Desc, into chan<- prometheus.Metric,
) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := reader.List(ctx, objects, client.UnsafeDisableDeepCopy); err != nil {
		into <- prometheus.NewInvalidMetric(failed, err)
		return false
	}
	return true
}

// level are the metrics of one level of budgets.
type level struct {
	budget, granted, used, demand, free, debt, ready *prometheus.Desc
}

// export exports a budget. Its names are those of status.hard: what has left them is not exported any more.
func (l *level) export(into chan<- prometheus.Metric, s *quotav1alpha1.BudgetStatus, labels ...string) {
	hard, granted := amount.Saturate(s.Hard, amount.Up), amount.Saturate(s.Granted, amount.Up)
	owed := amount.List{}
	for name := range hard {
		owed[name] = debt(hard[name], granted[name])
	}
	for desc, amounts := range map[*prometheus.Desc]amount.List{
		l.budget: hard, l.granted: granted, l.debt: owed, l.used: amount.Saturate(s.Used, amount.Up),
		l.demand: amount.Saturate(s.Demand, amount.Up), l.free: amount.Saturate(s.Free, amount.Up),
	} {
		for name := range hard {
			gauge(into, desc, amount.InBaseUnits(name, amounts[name]), slices.Concat(labels, []string{string(name)})...)
		}
	}
	gauge(into, l.ready, truth(apimeta.IsStatusConditionTrue(s.Conditions, quotav1alpha1.ConditionReady)), labels...)
}

// debt returns what is granted above a budget.
func debt(hard, granted int64) int64 {
	if granted == math.MaxInt64 {
		return granted
	}
	return max(0, granted-hard)
}

// These are of both levels: the namespace of a QuotaPool is empty.
var (
	nodesOnTheWay = prometheus.NewDesc("fedquota_scale_out_nodes_on_the_way",
		"Nodes of the MachineDeployments that the budget selects that are wanted and not there yet.",
		[]string{"namespace", "name"}, nil)
	nodesHeldBack = prometheus.NewDesc("fedquota_scale_out_held_back",
		"1 if the condition ScaleOutHeldBack of the budget is True, else 0: it needs nodes, and none can be added.",
		[]string{"namespace", "name"}, nil)
)

// exportNodes exports how many nodes are on their way to a budget, if it has some be added, and whether that works.
func exportNodes(into chan<- prometheus.Metric, s *quotav1alpha1.BudgetStatus, namespace, name string) {
	if s.ScaleOut == nil {
		return
	}
	gauge(into, nodesOnTheWay, float64(ptr.Deref(s.ScaleOut.OnTheWay, 0)), namespace, name)
	heldBack := apimeta.IsStatusConditionTrue(s.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	gauge(into, nodesHeldBack, truth(heldBack), namespace, name)
}

func gauge(into chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
