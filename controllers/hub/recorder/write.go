package recorder

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/record"
)

// write adds a piece to the record of its month, in one compare-and-swap. A piece that a write has stored whose answer
// was lost is in the record: it is not added again.
func (r *Recorder) write(ctx context.Context, of subject, pool string, piece *record.Month) error {
	stored, month, err := r.read(ctx, of, piece.From)
	if err != nil {
		return err
	}
	if month == nil {
		if month, err = r.follow(ctx, of, pool, piece); err != nil {
			return err
		}
	}
	if stored.ResourceVersion != "" && !piece.Until.After(month.Until) {
		return nil
	}
	month.Merge(piece)
	if _, end := record.StartOf(month.From); !month.Until.Before(end) {
		month.Close()
	}
	return r.put(ctx, stored, of, pool, month)
}

// read returns the record of the month of an instant, and what it says, nil if there is none.
func (r *Recorder) read(
	ctx context.Context, of subject, at time.Time,
) (*quotav1alpha1.QuotaRecord, *record.Month, error) {
	stored := &quotav1alpha1.QuotaRecord{}
	stored.Namespace, stored.Name = of.Namespace, of.record(at)
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(stored), stored)
	if apierrors.IsNotFound(err) {
		return stored, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	month, err := record.Decode(stored.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("QuotaRecord %s: %w", client.ObjectKeyFromObject(stored), err)
	}
	return stored, month, nil
}

// follow returns what the record of a month begins with that there is none of yet. If an earlier one ends before, what
// was known last counts for the gap between them, a record for each month.
func (r *Recorder) follow(
	ctx context.Context, of subject, pool string, piece *record.Month,
) (*record.Month, error) {
	before, _ := record.StartOf(piece.From)
	for range r.Months {
		before = before.AddDate(0, -1, 0)
		stored, month, err := r.read(ctx, of, before)
		if err != nil {
			return nil, err
		}
		if month == nil {
			continue
		}
		if month.UID != piece.UID || month.Level == nil {
			break
		}
		return r.bridge(ctx, of, pool, stored, month, piece)
	}
	return record.NewMonth(piece.From, piece.UID), nil
}

// bridge ends the record of an earlier month, and those of the months between, and returns how the one of a piece
// begins.
func (r *Recorder) bridge(
	ctx context.Context, of subject, pool string,
	stored *quotav1alpha1.QuotaRecord, month, piece *record.Month,
) (*record.Month, error) {
	for {
		_, end := record.StartOf(month.From)
		if piece.From.Before(end) {
			return month, nil
		}
		if month.Until.Before(end) {
			month.Advance(end, false)
			month.Close()
			if err := r.put(ctx, stored, of, pool, month); err != nil {
				return nil, err
			}
		}
		month = month.Next()
		stored = &quotav1alpha1.QuotaRecord{}
		stored.Namespace, stored.Name = of.Namespace, of.record(month.From)
	}
}

// put writes a record.
func (r *Recorder) put(
	ctx context.Context, stored *quotav1alpha1.QuotaRecord, of subject, pool string, month *record.Month,
) (err error) {
	stored.Quota, stored.Pool, stored.Month = of.quota(), pool, month.From.Format(monthForm)
	stored.From, stored.Until = &metav1.Time{Time: month.From}, &metav1.Time{Time: month.Until}
	stored.UnobservedSeconds = new(int64(month.Unobserved * time.Hour.Seconds()))
	stored.BudgetHours, stored.UsedHours = hours(month.Total)
	if stored.Data, err = month.Encode(); err != nil {
		return err
	}
	if stored.ResourceVersion == "" {
		return r.Create(ctx, stored)
	}
	return r.Update(ctx, stored)
}

// hours returns sums of a budget, and of what was used of it, as people read them.
func hours(total record.ByName) (budget, used corev1.ResourceList) {
	budget, used = corev1.ResourceList{}, corev1.ResourceList{}
	for name, sums := range total {
		budget[name], used[name] = quantity(sums.Budget), quantity(sums.Used)
	}
	return budget, used
}

// quantity returns a number to a thousandth, one above a million as a whole one.
func quantity(value float64) resource.Quantity {
	if value >= 1e6 {
		return *resource.NewQuantity(int64(min(value, 1<<62)), resource.DecimalSI)
	}
	return *resource.NewMilliQuantity(int64(value*1000), resource.DecimalSI)
}

// writerOf returns who has written the spec of an object last, as far as that is known.
func writerOf(object client.Object) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range slices.Backward(object.GetManagedFields()) {
		if entry.Subresource == "" && entry.Time != nil && (last.Time == nil || last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	return last.Manager
}
