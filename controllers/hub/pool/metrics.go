package pool

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

var (
	budgetOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_budget",
		Help: "The budget of the QuotaPool, in cores, bytes or objects: hard less reserve, and no more than its parent gives.",
	}, []string{"pool", "resource"})
	grantedOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_granted",
		Help: "What the children of the QuotaPool were granted, in cores, bytes or objects. +Inf while a child may hold anything.",
	}, []string{"pool", "resource"})
	usedOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_used",
		Help: "What the children of the QuotaPool use, in cores, bytes or objects.",
	}, []string{"pool", "resource"})
	demandOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_demand",
		Help: "What the children of the QuotaPool could use beyond what they use, in cores, bytes or objects.",
	}, []string{"pool", "resource"})
	freeOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_free",
		Help: "The part of the budget that no child of the QuotaPool holds, in cores, bytes or objects.",
	}, []string{"pool", "resource"})
	debtOfPool = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_debt",
		Help: "What the QuotaPool has granted above its budget, in cores, bytes or objects. No child is raised while it is above 0.",
	}, []string{"pool", "resource"})
	poolReady = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_pool_ready",
		Help: "1 if the condition Ready of the QuotaPool is True, else 0.",
	}, []string{"pool"})
)

// series are all metrics of a pool: one of each for each of its resource names, however many children it has.
var series = []*prometheus.GaugeVec{
	budgetOfPool, grantedOfPool, usedOfPool, demandOfPool, freeOfPool, debtOfPool, poolReady,
}

func init() {
	for _, vector := range series {
		metrics.Registry.MustRegister(vector)
	}
}

// measure exports the round.
func (s *scope) measure(memory *memory) {
	l := s.pool.Ledger
	budget := l.Budget()
	if names := budget.Names(); !slices.Equal(memory.series, names) {
		forgetSeries(s.p.Name) // those of names that have left the budget
		memory.series = names
	}
	ready := 0.0
	if apimeta.IsStatusConditionTrue(s.p.Status.Conditions, quotav1alpha1.ConditionReady) {
		ready = 1
	}
	poolReady.WithLabelValues(s.p.Name).Set(ready)
	used, demand := amount.Saturate(s.p.Status.Used, amount.Up), amount.Saturate(s.p.Status.Demand, amount.Up)
	for _, name := range memory.series {
		set := func(vector *prometheus.GaugeVec, value int64) {
			vector.WithLabelValues(s.p.Name, string(name)).Set(amount.InBaseUnits(name, value))
		}
		set(budgetOfPool, budget[name])
		set(grantedOfPool, l.Granted(name))
		set(usedOfPool, used[name])
		set(demandOfPool, demand[name])
		set(freeOfPool, l.Free(name))
		set(debtOfPool, l.Debt(name))
	}
}

// forgetSeries removes the series of a pool.
func forgetSeries(pool string) {
	for _, vector := range series {
		vector.DeletePartialMatch(prometheus.Labels{"pool": pool})
	}
}
