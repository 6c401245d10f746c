package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// isForeign says whether a ResourceQuota neither enforces a share nor did so once.
func isForeign(quota *corev1.ResourceQuota) bool {
	return !nativequota.IsManaged(quota) && !nativequota.IsReleased(quota)
}

// mayTakeOver says whether the hub lets the agent make a foreign quota the share's own, as it is: its limit is granted.
func mayTakeOver(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	allowed := share.Spec.TakeOver
	if allowed == nil || allowed.UID != string(quota.UID) || !isForeign(quota) || !quota.DeletionTimestamp.IsZero() || !covers(share, quota) {
		return false
	}
	within, _ := quotav1.LessThanOrEqual(quota.Spec.Hard, allowed.Hard)
	return within && len(quotav1.Mask(quota.Spec.Hard, quotav1.ResourceNames(allowed.Hard))) == len(quota.Spec.Hard)
}

// existing returns what the hub has to know of a foreign ResourceQuota of the share's name to charge it, or nil.
func existing(seen observation) *quotav1alpha1.ExistingQuota {
	if !reliable(seen) || !isForeign(seen.quota) || !seen.quota.DeletionTimestamp.IsZero() || !counted(seen.quota) {
		return nil
	}
	hard, used := nativequota.StateOf(seen.quota).Report()
	return &quotav1alpha1.ExistingQuota{UID: string(seen.quota.UID), Hard: hard, Used: used}
}

// notTaken returns why a foreign ResourceQuota of the share's name is not taken over, and what to do.
func notTaken(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) string {
	const give = "give the FederatedQuota another name"
	switch policy := share.Spec.ExistingQuotas.WhenToTakeOver; {
	case policy != quotav1alpha1.TakeOverAlways && policy != quotav1alpha1.TakeOverIfNoDiff:
		return "exists and is not managed by the agent: set spec.existingQuotas.whenToTakeOver of the FederatedQuota, delete it, or " + give
	case !sameScopes(share, quota):
		return "has other scopes than the FederatedQuota, which cannot be changed, so it is not taken over: delete it, or " + give
	case !covers(share, quota):
		return fmt.Sprintf("also limits %s, which nothing would limit once it were taken over: add that to spec.hard of the FederatedQuota, or take it out of the ResourceQuota",
			strings.Join(beyond(share, quota), ", "))
	case !counted(quota):
		return "is about to be taken over: its usage is not known yet"
	}
	return "is about to be taken over: the hub has yet to charge its limit"
}

// beyond names what quota limits and the share does not.
func beyond(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) []string {
	var names []string
	for name := range quota.Spec.Hard {
		if _, limited := share.Spec.Hard[name]; !limited {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// present labels the share whose ResourceQuota is taken over next: the policy fedquota-takeover knows by that which share
// to judge by. All that are labelled in a namespace have to allow the write, so that one goes after another.
func (r *Reconciler) present(ctx context.Context, share *quotav1alpha1.QuotaShare) error {
	var others quotav1alpha1.QuotaShareList
	if err := r.List(ctx, &others, client.InNamespace(share.Namespace), client.HasLabels{quotav1alpha1.TakesOverLabel}); err != nil {
		return err
	}
	_, labelled := share.Labels[quotav1alpha1.TakesOverLabel]
	for i := range others.Items {
		switch other := others.Items[i].Name; {
		case other == share.Name || labelled && other > share.Name:
			continue
		case labelled:
			if err := r.label(ctx, share, nil); err != nil {
				return err
			}
			fallthrough
		default:
			return fmt.Errorf("the ResourceQuota of QuotaShare %s is taken over first", other)
		}
	}
	if labelled {
		return nil
	}
	if err := r.label(ctx, share, "true"); err != nil {
		return err
	}
	return apierrors.NewConflict(quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), share.Name,
		fmt.Errorf("its API server has yet to see label %s", quotav1alpha1.TakesOverLabel))
}

// mark says on a foreign ResourceQuota that it is about to be taken over, and has it read again. From then on the hub
// counts with that, also where somebody deletes the share right before it is.
func (r *Reconciler) mark(ctx context.Context, quota *corev1.ResourceQuota) error {
	if nativequota.ToBeTakenOver(quota) {
		return nil
	}
	if err := r.annotate(ctx, quota, "true"); err != nil {
		return err
	}
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), quota.Name, errors.New("it was annotated, and is read again"))
}

// unmark takes that back from a foreign ResourceQuota that is not taken over after all. An agent that was about to meets
// another version of it then.
func (r *Reconciler) unmark(ctx context.Context, quota *corev1.ResourceQuota) error {
	if quota == nil || !isForeign(quota) || !nativequota.ToBeTakenOver(quota) {
		return nil
	}
	return client.IgnoreNotFound(r.annotate(ctx, quota, nil))
}

// annotate says on a foreign ResourceQuota, as it was read, that it is about to be taken over, or says so no more.
func (r *Reconciler) annotate(ctx context.Context, quota *corev1.ResourceQuota, value any) error {
	patch, err := patches.Merge(map[string]any{"metadata": map[string]any{
		"resourceVersion": quota.ResourceVersion, "annotations": map[string]any{quotav1alpha1.ToBeTakenOverAnnotation: value},
	}})
	if err != nil {
		return err
	}
	return r.Patch(ctx, quota.DeepCopy(), patch)
}

// withdraw ends what was begun to take a ResourceQuota over that is not to be any more. Of one that was taken over it takes
// the label off, and then off its share: no write of what is labelled is allowed without a share that is.
func (r *Reconciler) withdraw(ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) error {
	_, labelled := share.Labels[quotav1alpha1.TakesOverLabel]
	taken := quota != nil && nativequota.IsManaged(quota) && quota.Labels[quotav1alpha1.TakesOverLabel] != ""
	if quota == nil || !mayTakeOver(share, quota) {
		if err := r.unmark(ctx, quota); err != nil {
			return err
		}
	}
	switch {
	case taken && !labelled:
		return r.present(ctx, share)
	case taken:
		patch, err := whileManaged(quota, patches.Operation{Op: "remove", Path: patches.Pointer("metadata", "labels", quotav1alpha1.TakesOverLabel)})
		if err != nil {
			return err
		}
		if err := r.Patch(ctx, quota.DeepCopy(), patch); err != nil {
			return err
		}
	case !labelled, quota != nil && mayTakeOver(share, quota):
		return nil
	}
	return r.label(ctx, share, nil)
}

func (r *Reconciler) label(ctx context.Context, share *quotav1alpha1.QuotaShare, value any) error {
	patch, err := patches.Merge(map[string]any{"metadata": map[string]any{
		"uid": share.UID, "labels": map[string]any{quotav1alpha1.TakesOverLabel: value},
	}})
	if err != nil {
		return err
	}
	return r.Patch(ctx, share.DeepCopy(), patch)
}
