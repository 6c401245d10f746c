package share

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// predecessors returns the ResourceQuotas that shares of other names have left in the namespace, and whose place this
// share takes: it counts all that they limit. They limit the namespace until the ResourceQuota of the share does.
func (r *Reconciler) predecessors(ctx context.Context, share *quotav1alpha1.QuotaShare) ([]corev1.ResourceQuota, error) {
	var list corev1.ResourceQuotaList
	if err := r.List(ctx, &list, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	var shares quotav1alpha1.QuotaShareList
	if err := r.List(ctx, &shares, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	taken := sets.New[string]() // a share takes over what was released under its own name
	for i := range shares.Items {
		taken.Insert(shares.Items[i].Name)
	}
	var left []corev1.ResourceQuota
	for i := range list.Items {
		quota := &list.Items[i]
		released := nativequota.IsReleased(quota) && !nativequota.IsManaged(quota)
		if released && quota.DeletionTimestamp.IsZero() && !taken.Has(quota.Name) && covers(share, quota) {
			left = append(left, *quota)
		}
	}
	return left, nil
}

// covers says whether the share counts all that quota limits.
func covers(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return sameScopes(share, quota) && len(quotav1.Mask(quota.Spec.Hard, quotav1.ResourceNames(share.Spec.Hard))) == len(quota.Spec.Hard)
}

// inherited returns what predecessors leave: what is used of the names that they limit, as far as their limits go. A
// share whose usage is not counted yet begins with that. At zero it would refuse what took the place of a pod that went
// meanwhile.
func inherited(left []corev1.ResourceQuota) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for i := range left {
		for name, limit := range left[i].Spec.Hard {
			if used := left[i].Status.Used[name]; used.Cmp(limit) < 0 {
				limit = used
			}
			if other, found := usage[name]; !found || limit.Cmp(other) < 0 {
				usage[name] = limit
			}
		}
	}
	return usage
}

// succeed deletes predecessors once the share is in force: from then on it limits all that they do. Each goes
// as it was read: a team may keep one for itself. It returns the names of those that go, now or then.
func (r *Reconciler) succeed(ctx context.Context, seen observation, left []corev1.ResourceQuota) sets.Set[string] {
	going := sets.New[string]()
	inForce := enforced(seen).Status == metav1.ConditionTrue
	for i := range left {
		quota := &left[i]
		going.Insert(quota.Name)
		if !inForce {
			continue
		}
		err := r.Delete(ctx, quota, client.Preconditions{UID: &quota.UID, ResourceVersion: &quota.ResourceVersion})
		switch {
		case err == nil:
			r.Recorder.Eventf(seen.share, quota, corev1.EventTypeNormal, quotav1alpha1.ReasonSucceeded, "Succeed",
				"ResourceQuota %[1]s/%[2]s is deleted, which fedquota had let go of: ResourceQuota %[1]s/%[3]s has taken its place, and limits all that it did",
				quota.Namespace, quota.Name, seen.share.Name)
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			ctrl.LoggerFrom(ctx).Error(err, "Failed to delete what was released", "ResourceQuota", quota.Name)
			going.Delete(quota.Name)
		}
	}
	return going
}
