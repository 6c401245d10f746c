package admission

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// outcome is what becomes of a request.
type outcome string

const (
	outcomeLetThrough outcome = "LetThrough"
	outcomeDenied     outcome = "Denied"
	outcomeExists     outcome = "Exists"
	outcomeUnread     outcome = "Unread"
)

// denialReason is why a request is denied.
type denialReason string

const (
	denialOverBudget  denialReason = "OverBudget"
	denialFleetFull   denialReason = "FleetFull"
	denialClusterFull denialReason = "ClusterFull"
	denialGivenUp     denialReason = "GivenUp"
)

var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fedquota_requests_total",
		Help: "Requests that quota is asked about, by outcome: LetThrough to native quota, Denied, Exists (an object of that name is there), Unread (not understood, let through).",
	}, []string{"outcome"})
	denials = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fedquota_denials_total",
		Help: "Requests that were denied, by reason: OverBudget (one asks for more than the whole budget), FleetFull (all clusters together have no room, as the hub told last), ClusterFull (this cluster has none), GivenUp (the client did not wait).",
	}, []string{"reason"})
	held = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fedquota_requests_held",
		Help: "Requests that wait for a limit to be raised.",
	})
	holdSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                        "fedquota_hold_seconds",
		Help:                        "How long requests waited for a limit to be raised, by outcome: LetThrough or Denied.",
		Buckets:                     prometheus.ExponentialBuckets(0.01, 2, 14),
		NativeHistogramBucketFactor: 1.1,
	}, []string{"outcome"})
	reviewSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:                        "fedquota_review_seconds",
		Help:                        "Time in which requests were answered, that of their waiting included.",
		Buckets:                     prometheus.ExponentialBuckets(0.0002, 2, 18),
		NativeHistogramBucketFactor: 1.1,
	})
)

func init() {
	metrics.Registry.MustRegister(requests, denials, held, holdSeconds, reviewSeconds)
}

// count notes what became of a request.
func count(o outcome) { requests.WithLabelValues(string(o)).Inc() }

// countDenial notes why a request was denied.
func countDenial(reason denialReason) { denials.WithLabelValues(string(reason)).Inc() }

// ended notes that a request does not wait any more.
func ended(took time.Duration, denial string) {
	o := outcomeLetThrough
	if denial != "" {
		o = outcomeDenied
	}
	held.Dec()
	holdSeconds.WithLabelValues(string(o)).Observe(took.Seconds())
}
