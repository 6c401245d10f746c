package stores

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
)

var (
	lastLook = prometheus.NewDesc("fedquota_member_last_look_timestamp_seconds",
		"When the hub manager last looked at the shares of the cluster and was answered, in Unix time. It looks every 5 seconds.",
		[]string{"cluster"}, nil)
	lastReport = prometheus.NewDesc("fedquota_member_last_report_timestamp_seconds",
		"When the hub manager last heard an agent of the cluster report, in Unix time. An agent reports what has changed.",
		[]string{"cluster"}, nil)
	lastReportOfShare = prometheus.NewDesc("fedquota_cluster_last_report_timestamp_seconds",
		"When the hub manager last heard the cluster report of the FederatedQuota, in Unix time. Only with `--metrics-per-cluster`.",
		[]string{"namespace", "name", "cluster"}, nil)
)

// times is when a member was heard of, by the clock of the hub manager.
type times struct {
	// answered is when it answered a look, and reported when any of its shares reported.
	answered, reported time.Time
	// shares is when each of them did, if somebody asks.
	shares map[types.NamespacedName]time.Time
}

// answered notes that a member has answered a look.
func (s *stores) answered(member string, now time.Time) {
	s.With(member, func(known *store) { known.times.answered = now })
}

// reported notes that a share of a member has reported, by itself if each is asked for.
func (s *stores) reported(member string, share types.NamespacedName, each bool, now time.Time) {
	s.With(member, func(known *store) {
		known.times.reported = now
		if !each {
			return
		}
		if known.times.shares == nil {
			known.times.shares = map[types.NamespacedName]time.Time{}
		}
		known.times.shares[share] = now
	})
}

// dropped forgets when a share of a member has reported, which is gone.
func (s *stores) dropped(member string, share types.NamespacedName) {
	s.With(member, func(known *store) { delete(known.times.shares, share) })
}

// listener notes when shares of a member report before it hands their events on.
type listener struct {
	handler.EventHandler

	*Watcher

	member string
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Create notes what a share has reported before the hub manager listened, as if it did so now: nobody knows when.
func (l listener) Create(ctx context.Context, e event.CreateEvent, rounds queue) {
	if share, ok := e.Object.(*quotav1alpha1.QuotaShare); ok && e.IsInInitialList {
		if whole, err := pack.Unpack(share); err == nil && whole.Status.ObservedGeneration > 0 {
			l.hear(share)
		}
	}
	l.EventHandler.Create(ctx, e, rounds)
}

// Update notes a report. It leaves the generation as it was, and what the hub writes seldom does.
func (l listener) Update(ctx context.Context, e event.UpdateEvent, rounds queue) {
	before, after := e.ObjectOld, e.ObjectNew
	if before.GetResourceVersion() != after.GetResourceVersion() && before.GetGeneration() == after.GetGeneration() {
		l.hear(after)
	}
	l.EventHandler.Update(ctx, e, rounds)
}

// Delete forgets the share.
func (l listener) Delete(ctx context.Context, e event.DeleteEvent, rounds queue) {
	l.known.dropped(l.member, client.ObjectKeyFromObject(e.Object))
	l.EventHandler.Delete(ctx, e, rounds)
}

func (l listener) hear(share client.Object) {
	l.known.reported(l.member, client.ObjectKeyFromObject(share), l.PerCluster, l.Clock.Now())
}

// Describe implements prometheus.Collector. What is collected is not known beforehand.
func (*Watcher) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. Nobody who looks or listens waits for who reads it.
func (w *Watcher) Collect(into chan<- prometheus.Metric) {
	var all []prometheus.Metric
	add := func(desc *prometheus.Desc, at time.Time, labels ...string) {
		if !at.IsZero() {
			seconds := float64(at.UnixMilli()) / 1000
			all = append(all, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, seconds, labels...))
		}
	}
	w.known.Each(func(member string, known *store) {
		add(lastLook, known.times.answered, member)
		add(lastReport, known.times.reported, member)
		for share, at := range known.times.shares {
			add(lastReportOfShare, at, share.Namespace, share.Name, member)
		}
	})
	for _, metric := range all {
		into <- metric
	}
}
