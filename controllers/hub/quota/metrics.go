package quota

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
)

var (
	settleSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:                        "fedquota_settle_seconds",
		Help:                        "Time from the ledger's decision on a cluster until the cluster was seen to enforce it.",
		Buckets:                     prometheus.ExponentialBuckets(0.01, 2, 16),
		NativeHistogramBucketFactor: 1.1,
	})
	fencedWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fedquota_fenced_writes_total",
		Help: "Writes that were refused because they were decided on an older state: of the ledger, or of a share.",
	})
	limitMoves = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fedquota_limit_moves_total",
		Help: "Limits of clusters that were moved, by direction (Up, Down) and by why, as `kubectl fedquota history` says it.",
	}, []string{"direction", "reason"})
	memberReachable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fedquota_member_reachable",
		Help: "1 if the cluster could be read in the last round, else 0.",
	}, []string{"cluster"})
)

func init() {
	metrics.Registry.MustRegister(settleSeconds, fencedWrites, limitMoves, memberReachable)
}

// measure exports how long the members of a round took, whether they were read, and what the round has moved.
func (r *Reconciler) measure(s *scope) {
	r.Limits.hear(s)
	for _, m := range s.members {
		v := m.verdict
		if v == nil || v.State == "" {
			continue
		}
		memberReachable.WithLabelValues(m.Name).Set(truth(v.Read))
		if took, ok := r.historyOf(s, m).settle(s.now, v.Decided, v.State == quotav1alpha1.ClusterSettled); ok {
			settleSeconds.Observe(took.Seconds())
		}
		if e, _ := s.decision.Ledger.Entry(m.Name); v.Decided {
			countMoves(m.storedTarget(), e.Target, v.Reasons)
		}
	}
}

// countMoves counts the names of which a limit was moved.
func countMoves(before, target amount.List, reasons map[corev1.ResourceName]allocate.Reason) {
	for name, to := range target {
		switch from := before[name]; {
		case to > from:
			limitMoves.WithLabelValues("Up", string(reasons[name])).Inc()
		case to < from:
			limitMoves.WithLabelValues("Down", string(reasons[name])).Inc()
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
