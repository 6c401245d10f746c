package quota

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/round"
)

// remove tells the share of a member that leaves what shall become of its ResourceQuota, and deletes it once the ledger
// notes that: a share that somebody else has deleted before was told nothing. Neither is done to a share that has
// changed since it was read: another hub manager may have selected the cluster again.
func (r *Reconciler) remove(ctx context.Context, s *scope, m *member) error {
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	if m.verdict.Order == round.OrderRemove {
		return client.IgnoreNotFound(c.Delete(ctx, m.share.DeepCopy(), client.Preconditions{UID: &m.share.UID, ResourceVersion: &m.share.ResourceVersion}))
	}
	patch, err := patches.Merge(map[string]any{"metadata": map[string]any{
		"uid":             m.share.UID,
		"resourceVersion": m.share.ResourceVersion,
		"annotations":     map[string]any{quotav1alpha1.RemovalAnnotation: cmp.Or(s.fq.Spec.Removal.Policy, quotav1alpha1.RemovalRetain)},
	}})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Patch(ctx, m.share.DeepCopy(), patch))
}
