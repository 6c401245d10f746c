package share

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/share/report"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/pace"
)

// report writes the share's status if it says something new. A report that differs in usage alone may wait.
func (r *Reconciler) report(ctx context.Context, seen report.Observation) (ctrl.Result, error) {
	status := report.Status(seen)
	stored := seen.Share
	if equality.Semantic.DeepEqual(stored.Status, status) {
		return ctrl.Result{}, nil
	}
	if wait := r.paced(stored, status); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, r.store(ctx, stored, status, seen.Now)
}

// store writes a share's status, and announces what is new of the conditions.
func (r *Reconciler) store(
	ctx context.Context, stored *quotav1alpha1.QuotaShare, status quotav1alpha1.QuotaShareStatus, now time.Time,
) error {
	share := stored.DeepCopy()
	share.Status = status
	patch := patches.Since(stored)
	if err := r.Status().Patch(ctx, share, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.reports.Store(client.ObjectKeyFromObject(share), now)
	r.announce(share, stored.Status.Conditions, status.Conditions)
	return nil
}

// reportUnreleased says why the ResourceQuota of a deleted share is not yet what removal asks for.
func (r *Reconciler) reportUnreleased(ctx context.Context, share *quotav1alpha1.QuotaShare, reason error) error {
	now := r.Clock.Now()
	status := report.Unreleased(share, reason, now)
	if equality.Semantic.DeepEqual(share.Status, status) {
		return nil
	}
	return r.store(ctx, share, status, now)
}

// paced returns how long a report has to wait: one that differs from the stored one in usage alone tells the hub
// nothing that it must act upon at once.
func (r *Reconciler) paced(share *quotav1alpha1.QuotaShare, status quotav1alpha1.QuotaShareStatus) time.Duration {
	interval := pace.ReportInterval
	if report.Unblocks(&share.Status, &status) {
		interval = pace.UrgentReportInterval
	}
	status.Used, status.Demand, status.DemandByShape = share.Status.Used, share.Status.Demand, share.Status.DemandByShape
	status.Expected, status.Replacing = share.Status.Expected, share.Status.Replacing
	status.Unscheduled, status.UnscheduledByShape = share.Status.Unscheduled, share.Status.UnscheduledByShape
	if told := share.Status.ExistingQuota; told != nil && status.ExistingQuota != nil {
		calm := *status.ExistingQuota
		calm.Used, status.ExistingQuota = told.Used, &calm
	}
	if !equality.Semantic.DeepEqual(share.Status, status) {
		return 0
	}
	last, ok := r.reports.Load(client.ObjectKeyFromObject(share))
	if !ok {
		return 0
	}
	return interval - r.Clock.Since(last.(time.Time))
}
