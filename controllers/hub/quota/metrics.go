package quota

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

var (
	grantedRatio = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_granted_ratio",
		Help: "What clusters were granted, relative to the budget. Above 1 only while there is debt. +Inf while a cluster may hold anything.",
	}, []string{"namespace", "name", "resource"})
	debt = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_debt",
		Help: "What is granted above the budget, in cores, bytes or objects. Nobody is raised while it is above 0.",
	}, []string{"namespace", "name", "resource"})
	ready = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_ready",
		Help: "1 if the condition Ready of the FederatedQuota is True, else 0.",
	}, []string{"namespace", "name"})
	settleSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "fedquota_settle_seconds",
		Help:    "Time from the ledger's decision on a cluster until the cluster was seen to enforce it.",
		Buckets: prometheus.ExponentialBuckets(0.01, 2, 16),
	})
	fencedWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fedquota_fenced_writes_total",
		Help: "Writes that were refused because they were decided on an older state: of the ledger, or of a share.",
	})
	memberReachable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_member_reachable",
		Help: "1 if the cluster could be read in the last round, else 0.",
	}, []string{"cluster"})
)

func init() {
	metrics.Registry.MustRegister(grantedRatio, debt, ready, settleSeconds, fencedWrites, memberReachable)
}

// measure exports the round.
func (r *Reconciler) measure(s *scope) {
	budget := s.decision.Ledger.Budget()
	names := budget.Names()
	if memory := r.memories.of(s.fq.UID); !slices.Equal(memory.series, names) {
		forgetSeries(client.ObjectKeyFromObject(s.fq)) // those of names that have left the budget
		memory.series = names
	}
	isReady := apimeta.IsStatusConditionTrue(s.fq.Status.Conditions, quotav1alpha1.ConditionReady)
	ready.WithLabelValues(s.fq.Namespace, s.fq.Name).Set(truth(isReady))
	for _, name := range names {
		labels := prometheus.Labels{"namespace": s.fq.Namespace, "name": s.fq.Name, "resource": string(name)}
		grantedRatio.With(labels).Set(amount.InBaseUnits(name, s.decision.Ledger.Granted(name)) / amount.InBaseUnits(name, max(1, budget[name])))
		debt.With(labels).Set(amount.InBaseUnits(name, s.decision.Ledger.Debt(name)))
	}
	for _, m := range s.members {
		v := m.verdict
		if v == nil || v.State == "" {
			continue
		}
		memberReachable.WithLabelValues(m.Name).Set(truth(v.Read))
		if took, ok := r.historyOf(s, m).settle(s.now, v.Decided, v.State == quotav1alpha1.ClusterSettled); ok {
			settleSeconds.Observe(took.Seconds())
		}
	}
}

// forgetSeries removes the series of a FederatedQuota.
func forgetSeries(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	grantedRatio.DeletePartialMatch(labels)
	debt.DeletePartialMatch(labels)
	ready.DeletePartialMatch(labels)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
