// Package takeover makes a ResourceQuota that others have made the share's own, as far as that takes labels and an
// annotation: the write itself is that of any limit.
package takeover

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Begin prepares that a foreign ResourceQuota is taken over next. Its error is a conflict where it has written
// something: share and ResourceQuota are to be read again then.
func Begin(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) error {
	if err := present(ctx, c, share); err != nil {
		return err
	}
	return mark(ctx, c, quota)
}

// present labels the share whose ResourceQuota is taken over next: the policy fedquota-takeover knows by that which
// share to judge by. All that are labelled in a namespace have to allow the write, so that one goes after another.
func present(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
	var others quotav1alpha1.QuotaShareList
	err := c.List(ctx, &others, client.InNamespace(share.Namespace), client.HasLabels{quotav1alpha1.TakesOverLabel})
	if err != nil {
		return err
	}
	_, labelled := share.Labels[quotav1alpha1.TakesOverLabel]
	for i := range others.Items {
		switch other := others.Items[i].Name; {
		case other == share.Name || labelled && other > share.Name:
			continue
		case labelled:
			if err := label(ctx, c, share, nil); err != nil {
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
	if err := label(ctx, c, share, "true"); err != nil {
		return err
	}
	return apierrors.NewConflict(quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), share.Name,
		fmt.Errorf("its API server has yet to see label %s", quotav1alpha1.TakesOverLabel))
}

// mark says on a foreign ResourceQuota that it is about to be taken over, and has it read again. From then on the hub
// counts with that, also where somebody deletes the share right before it is.
func mark(ctx context.Context, c client.Client, quota *corev1.ResourceQuota) error {
	if nativequota.ToBeTakenOver(quota) {
		return nil
	}
	if err := annotate(ctx, c, quota, "true"); err != nil {
		return err
	}
	return apierrors.NewConflict(
		corev1.Resource("resourcequotas"), quota.Name, errors.New("it was annotated, and is read again"),
	)
}

// Unmark takes that back from a foreign ResourceQuota that is not taken over after all. An agent that was about to
// meets another version of it then.
func Unmark(ctx context.Context, c client.Client, quota *corev1.ResourceQuota) error {
	if quota == nil || !managed.IsForeign(quota) || !nativequota.ToBeTakenOver(quota) {
		return nil
	}
	return client.IgnoreNotFound(annotate(ctx, c, quota, nil))
}

// annotate says on a foreign ResourceQuota, as it was read, that it is about to be taken over, or says so no more.
func annotate(ctx context.Context, c client.Client, quota *corev1.ResourceQuota, value any) error {
	return c.Patch(ctx, quota.DeepCopy(), patches.Merge{"metadata": map[string]any{
		"resourceVersion": quota.ResourceVersion, "annotations": map[string]any{quotav1alpha1.ToBeTakenOverAnnotation: value},
	}})
}

// Withdraw ends what was begun to take a ResourceQuota over that is not to be any more. Of one that was taken over it
// takes the label off, and then off its share: no write of what is labelled is allowed without a share that is.
func Withdraw(
	ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota,
) error {
	if quota != nil && managed.MayTakeOver(share, quota) {
		return nil
	}
	if err := Unmark(ctx, c, quota); err != nil {
		return err
	}
	_, labelled := share.Labels[quotav1alpha1.TakesOverLabel]
	taken := quota != nil && nativequota.IsManaged(quota) && quota.Labels[quotav1alpha1.TakesOverLabel] != ""
	switch {
	case taken && !labelled:
		return present(ctx, c, share)
	case !labelled:
		return nil
	case taken:
		if err := unlabel(ctx, c, quota); err != nil {
			return err
		}
	}
	return label(ctx, c, share, nil)
}

// unlabel takes the label off a ResourceQuota that was taken over.
func unlabel(ctx context.Context, c client.Client, quota *corev1.ResourceQuota) error {
	return c.Patch(ctx, quota.DeepCopy(), managed.WhileManaged(
		quota, patches.Operation{Op: "remove", Path: patches.Pointer("metadata", "labels", quotav1alpha1.TakesOverLabel)},
	))
}

func label(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare, value any) error {
	return c.Patch(ctx, share.DeepCopy(), patches.Merge{"metadata": map[string]any{
		"uid": share.UID, "labels": map[string]any{quotav1alpha1.TakesOverLabel: value},
	}})
}
