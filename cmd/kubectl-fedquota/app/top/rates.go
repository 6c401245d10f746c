package top

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// rates counts the limits that went up from one look to the next, and what was refused.
type rates struct {
	clock    clock.PassiveClock
	began    time.Time
	limits   map[limit]int64
	raises   map[limit]int
	refusals *refusals
}

// limit names a limit, or with no cluster all those of a resource of a budget.
type limit struct {
	namespace, name, cluster string
	resource                 corev1.ResourceName
}

func newRates(clock clock.PassiveClock, refusals *refusals) *rates {
	return &rates{clock: clock, began: clock.Now(), limits: map[limit]int64{}, raises: map[limit]int{}, refusals: refusals}
}

// see takes another look.
func (r *rates) see(held *cli.Held) {
	for _, object := range held.Objects() {
		switch o := object.(type) {
		case *quotav1alpha1.FederatedQuota:
			for _, c := range o.Status.Clusters {
				r.take(limit{o.Namespace, o.Name, string(c.Name), ""}, view.Target(c.Target, c.Granted))
			}
		case *quotav1alpha1.QuotaShare:
			r.take(limit{o.Namespace, o.Name, "this one", ""}, o.Spec.Hard)
		}
	}
}

func (r *rates) take(of limit, targets corev1.ResourceList) {
	for name, quantity := range targets {
		of.resource = name
		value := quantity.MilliValue()
		if before, known := r.limits[of]; known && value > before {
			r.raises[limit{of.namespace, of.name, "", name}]++
		}
		r.limits[of] = value
	}
}

// raised returns how many limits went up per minute, nil if no time has passed.
func (r *rates) raised(l *view.Line) *float64 {
	return r.perMinute(r.raises[limit{l.Namespace, l.Name, "", l.Resource}])
}

// refused returns how many requests were refused per minute, nil if nobody could be asked.
func (r *rates) refused(l *view.Line) *float64 {
	count, known := r.refusals.of(l)
	if !known {
		return nil
	}
	return r.perMinute(count)
}

func (r *rates) perMinute(count int) *float64 {
	minutes := r.clock.Since(r.began).Minutes()
	if minutes <= 0 {
		return nil
	}
	return new(float64(count) / max(minutes, 1.0/60))
}
