package share

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// quotaHandler has shares looked at when a ResourceQuota changes. Every pod that comes or goes changes usage, and a
// look costs a read from the API server: where nobody waits for it, usage alone is looked at as often as it is
// reported.
func (r *Reconciler) quotaHandler() handler.EventHandler {
	all := func(ctx context.Context, namespace string, q queue) {
		for _, request := range r.shares(ctx, client.InNamespace(namespace)) {
			q.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			all(ctx, e.Object.GetNamespace(), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			all(ctx, e.Object.GetNamespace(), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*corev1.ResourceQuota), e.ObjectNew.(*corev1.ResourceQuota)
			if !sameButUsed(before, after) {
				all(ctx, after.Namespace, q)
			} else if wait, concerned := r.usageMayWait(ctx, after); concerned {
				q.AddAfter(requests.For(after), wait)
			}
		},
	}
}

// sameButUsed says whether two versions of a ResourceQuota differ in usage alone. A resync has no difference, and is
// looked at as any change.
func sameButUsed(before, after *corev1.ResourceQuota) bool {
	return before.ResourceVersion != after.ResourceVersion &&
		equality.Semantic.DeepEqual(before.Spec, after.Spec) &&
		equality.Semantic.DeepEqual(before.Status.Hard, after.Status.Hard) &&
		equality.Semantic.DeepEqual(before.Labels, after.Labels) &&
		equality.Semantic.DeepEqual(before.Annotations, after.Annotations) &&
		before.DeletionTimestamp.Equal(after.DeletionTimestamp) && len(before.Status.Used) == len(after.Status.Used)
}

// usageMayWait returns how long a share may wait for a look at new usage of its ResourceQuota, and false if there is no
// share.
func (r *Reconciler) usageMayWait(
	ctx context.Context, quota *corev1.ResourceQuota,
) (wait time.Duration, concerned bool) {
	key := client.ObjectKeyFromObject(quota)
	share := &quotav1alpha1.QuotaShare{}
	if err := r.Get(ctx, key, share); err != nil {
		return 0, !apierrors.IsNotFound(err)
	}
	last, reported := r.reports.Load(key)
	if !reported || !calm(share, quota) || r.Demand.Book.Refused(key) {
		return 0, true
	}
	return max(0, pace.ReportInterval-r.Clock.Since(last.(time.Time))), true
}

// calm says whether usage changes nothing for anybody: nobody asks for more, the limit in force is the share's, so that
// it does not follow usage down, and usage is within it.
func calm(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	within, _ := quotav1.LessThanOrEqual(quota.Status.Used, quota.Status.Hard)
	return within && len(share.Status.Demand) == 0 && share.DeletionTimestamp.IsZero() &&
		nativequota.StateOf(quota).Enforces(share.Spec.Revision, share.Spec.Hard) &&
		quotav1.Equals(quota.Spec.Hard, quota.Status.Hard)
}
