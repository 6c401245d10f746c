// Package records reads what the hub manager has kept of budgets.
package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/internal/record"
)

// Record is what became of a budget in a month.
type Record struct {
	*record.Month

	Namespace, Quota, Pool string
}

// within says whether a record ends after an instant and begins before another one.
func within(r *quotav1alpha1.QuotaRecord, from, until time.Time) bool {
	return r.From != nil && r.Until != nil && r.From.Time.Before(until) && !r.Until.Time.Before(from)
}

// Of returns the records of one budget, the first one first, as far back as there is one of each month. A hub that does
// not serve the kind has none.
func Of(ctx context.Context, c client.Client, key client.ObjectKey, now time.Time) ([]Record, error) {
	var found []Record
	present, _ := record.StartOf(now)
	for start := present; ; start = start.AddDate(0, -1, 0) {
		var r quotav1alpha1.QuotaRecord
		err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: recorder.NameOf(key.Name, start)}, &r)
		switch {
		case apierrors.IsNotFound(err) && start.Equal(present):
			continue // the hub manager has not written it yet
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			slices.Reverse(found)
			return found, nil
		case err != nil:
			return nil, err
		}
		month, err := record.Decode(r.Data)
		if err != nil {
			return nil, fmt.Errorf("QuotaRecord %s/%s: %w", r.Namespace, r.Name, err)
		}
		found = append(found, Record{month, r.Namespace, r.Quota, r.Pool})
	}
}

// List returns the records of the FederatedQuotas of a namespace, or of all, that end after an instant and begin before
// another one, by namespace, budget and month; of one budget, if it is named. A hub that does not serve the kind has
// none.
func List(ctx context.Context, c client.Client, namespace, quota string, from, until time.Time) ([]Record, error) {
	return list(ctx, c, namespace, from, until, func(r *quotav1alpha1.QuotaRecord) bool {
		return r.Quota != "" && (quota == "" || r.Quota == quota)
	})
}

// ListPool returns those of a QuotaPool, which are in the namespace of the hub manager.
func ListPool(ctx context.Context, c client.Client, namespace, pool string, from, until time.Time) ([]Record, error) {
	return list(ctx, c, namespace, from, until, func(r *quotav1alpha1.QuotaRecord) bool {
		return r.Quota == "" && r.Pool == pool
	})
}

func list(
	ctx context.Context, c client.Client, namespace string, from, until time.Time,
	wanted func(*quotav1alpha1.QuotaRecord) bool,
) ([]Record, error) {
	var list quotav1alpha1.QuotaRecordList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		if apimeta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, err
	}
	var found []Record
	for i := range list.Items {
		r := &list.Items[i]
		if !wanted(r) || !within(r, from, until) {
			continue
		}
		month, err := record.Decode(r.Data)
		if err != nil {
			return nil, fmt.Errorf("QuotaRecord %s/%s: %w", r.Namespace, r.Name, err)
		}
		found = append(found, Record{month, r.Namespace, r.Quota, r.Pool})
	}
	slices.SortFunc(found, func(a, b Record) int {
		if order := strings.Compare(a.Namespace+"/"+a.Quota, b.Namespace+"/"+b.Quota); order != 0 {
			return order
		}
		return a.From.Compare(b.From)
	})
	return found, nil
}
