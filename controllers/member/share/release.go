package share

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/controllers/member/share/takeover"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// remove does what the hub asked for when it deleted the share. A share deleted by anybody else is let go, and its
// ResourceQuota stays as it is until the hub has written the share again. Behind broken glass nothing is changed: the
// share stays until the glass is mended.
func (r *Reconciler) remove(
	ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota,
) (ctrl.Result, error) {
	if quota != nil && nativequota.IsManaged(quota) && share.Annotations[quotav1alpha1.RemovalAnnotation] != "" {
		if nativequota.BrokenGlass(quota) != "" {
			return ctrl.Result{}, nil
		}
		if wait := r.ebbing(share, quota); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		switch err := r.release(ctx, share, quota); {
		case apierrors.IsConflict(err):
			return ctrl.Result{}, err
		case err != nil:
			return ctrl.Result{}, errors.Join(err, r.reportUnreleased(ctx, share, err))
		}
	}
	if err := takeover.Unmark(ctx, r.Client, quota); err != nil {
		return ctrl.Result{}, err
	}
	stored := share.DeepCopy()
	if !controllerutil.RemoveFinalizer(share, quotav1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Patch(ctx, share, patches.Since(stored))
}

// ebbing returns how long usage above the limit, which a release would make the limit, is still given to fall: what
// native quota has let in there goes as soon as a pod does, and what a namespace was adopted with stays. A clock that
// is off gives it no time.
func (r *Reconciler) ebbing(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) time.Duration {
	since := r.Clock.Since(share.DeletionTimestamp.Time)
	retained := share.Annotations[quotav1alpha1.RemovalAnnotation] == string(quotav1alpha1.RemovalRetain)
	if !retained || since < 0 || nativequota.StateOf(quota).Within() {
		return 0
	}
	return pace.EbbPatience - since
}

func (r *Reconciler) release(ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) error {
	if err := r.stillThere(ctx, share); err != nil {
		return err
	}
	switch quotav1alpha1.RemovalPolicy(share.Annotations[quotav1alpha1.RemovalAnnotation]) {
	case quotav1alpha1.RemovalDelete:
		return client.IgnoreNotFound(r.Delete(ctx, quota, client.Preconditions{UID: &quota.UID}))
	case quotav1alpha1.RemovalRetain:
		err := client.IgnoreNotFound(r.Patch(ctx, quota.DeepCopy(), managed.ReleasePatch(quota, share.Status.Used)))
		if apierrors.IsForbidden(err) {
			return r.unlessChanged(ctx, quota, err)
		}
		if err == nil {
			r.Recorder.Eventf(
				quota, share, corev1.EventTypeWarning, quotav1alpha1.ReasonReleased, "Release", "%s", managed.ReleaseNote(quota),
			)
		}
		return err
	default:
		return nil
	}
}

// stillThere returns why nothing is to begin or to end on account of a share: another agent may have acted on this very
// share, which is still in the cache, and on one that came after it. The ResourceQuota has to be read before: it
// belongs to this share then.
func (r *Reconciler) stillThere(ctx context.Context, share *quotav1alpha1.QuotaShare) error {
	live := &quotav1alpha1.QuotaShare{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(share), live)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if live.UID == share.UID && live.DeletionTimestamp.IsZero() == share.DeletionTimestamp.IsZero() &&
		live.Spec.Revision == share.Spec.Revision &&
		equality.Semantic.DeepEqual(live.Spec.TakeOver, share.Spec.TakeOver) {
		return nil
	}
	return apierrors.NewConflict(
		quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), share.Name,
		errors.New("it was deleted or changed"),
	)
}

// unlessChanged returns a conflict in the place of a refusal if quota has changed since it was read: usage may have
// risen, and then the guard refuses to go below it.
func (r *Reconciler) unlessChanged(ctx context.Context, quota *corev1.ResourceQuota, refusal error) error {
	now, err := r.quotaOf(ctx, client.ObjectKeyFromObject(quota))
	if err != nil || now != nil && now.ResourceVersion == quota.ResourceVersion {
		return errors.Join(refusal, err)
	}
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), quota.Name, refusal)
}
