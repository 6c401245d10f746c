// Package neighbours says what the other ResourceQuotas of a namespace mean for a share.
package neighbours

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Predecessors returns the ResourceQuotas that shares of other names have left in the namespace, and whose place this
// share takes: it counts all that they limit. They limit the namespace until the ResourceQuota of the share does.
func Predecessors(
	ctx context.Context, c client.Reader, share *quotav1alpha1.QuotaShare,
) ([]corev1.ResourceQuota, error) {
	var list corev1.ResourceQuotaList
	if err := c.List(ctx, &list, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	var shares quotav1alpha1.QuotaShareList
	if err := c.List(ctx, &shares, client.InNamespace(share.Namespace)); err != nil {
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
		if released && quota.DeletionTimestamp.IsZero() && !taken.Has(quota.Name) && managed.Covers(share, quota) {
			left = append(left, *quota)
		}
	}
	return left, nil
}

// Succession puts a share in the place of its predecessors.
type Succession struct {
	client.Client
	// Recorder writes events on QuotaShares.
	Recorder events.EventRecorder
}

// Complete deletes predecessors once the share is in force: from then on it limits all that they do. Each goes as it
// was read: a team may keep one for itself. It returns the names of those that go, now or then.
func (s *Succession) Complete(
	ctx context.Context, share *quotav1alpha1.QuotaShare, left []corev1.ResourceQuota, inForce bool,
) sets.Set[string] {
	going := sets.New[string]()
	for i := range left {
		quota := &left[i]
		going.Insert(quota.Name)
		if !inForce {
			continue
		}
		err := s.Delete(ctx, quota, client.Preconditions{UID: &quota.UID, ResourceVersion: &quota.ResourceVersion})
		switch {
		case err == nil:
			s.Recorder.Eventf(
				share, quota, corev1.EventTypeNormal, quotav1alpha1.ReasonSucceeded, "Succeed",
				"ResourceQuota %[1]s/%[2]s is deleted, which fedquota had released: ResourceQuota %[1]s/%[3]s has taken its place, and limits all that it did",
				quota.Namespace, quota.Name, share.Name,
			)
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			ctrl.LoggerFrom(ctx).Error(err, "Failed to delete what was released", "ResourceQuota", quota.Name)
			going.Delete(quota.Name)
		}
	}
	return going
}

// Foreign names the ResourceQuotas beside the share's that the agent does not manage and that the budget does not
// accept, whatever they count: an API server that has to repeat a write to one of them may admit what another one
// refused. Those that are going are left out.
func Foreign(
	ctx context.Context, c client.Reader, share *quotav1alpha1.QuotaShare, going sets.Set[string],
) ([]string, error) {
	var list corev1.ResourceQuotaList
	if err := c.List(ctx, &list, client.InNamespace(share.Namespace)); err != nil {
		return nil, err
	}
	silent := going.Union(sets.New(share.Name))
	for _, name := range share.Spec.ExistingQuotas.Accepted {
		silent.Insert(string(name))
	}
	var names []string
	for i := range list.Items {
		quota := &list.Items[i]
		if !nativequota.IsManaged(quota) && !silent.Has(quota.Name) {
			names = append(names, nativequota.Foreign(quota))
		}
	}
	slices.Sort(names)
	return names, nil
}
