package recorder

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/record"
)

// page is how many records are listed at once.
const page = 500

// sweep removes records that are too old, once a day.
func (r *Recorder) sweep(ctx context.Context) {
	now := r.Clock.Now()
	if now.Sub(r.swept) < pace.SweepInterval {
		return
	}
	r.swept = now
	if err := r.Sweep(ctx, now); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "Removing records that are too old failed: it is tried again")
		r.swept = now.Add(pace.RetryInterval - pace.SweepInterval)
	}
}

// Sweep removes records of months that ended more than Months before the present one.
func (r *Recorder) Sweep(ctx context.Context, now time.Time) error {
	start, _ := record.StartOf(now)
	oldest := start.AddDate(0, -r.Months, 0).Format(monthForm)
	records := &metav1.PartialObjectMetadataList{}
	records.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("QuotaRecordList"))
	for {
		if err := r.Live.List(ctx, records, client.Limit(page), client.Continue(records.Continue)); err != nil {
			return err
		}
		for i := range records.Items {
			old := &records.Items[i]
			month, ours := monthOf(old.Name)
			if !ours || month >= oldest {
				continue
			}
			if err := client.IgnoreNotFound(r.Delete(ctx, old)); err != nil {
				return err
			}
		}
		if records.Continue == "" {
			return nil
		}
	}
}
