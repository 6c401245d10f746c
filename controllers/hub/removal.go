package hub

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
)

// remove tells the share of a member that leaves what shall become of its ResourceQuota, and deletes it once the ledger notes
// that: a share that somebody else has deleted before was told nothing. Neither is done to a share that has changed since it was read:
// another hub manager may have selected the cluster again.
func (r *QuotaReconciler) remove(ctx context.Context, s *scope, m *member) error {
	told := removalOf(m.share)
	if told != "" && !m.share.DeletionTimestamp.IsZero() {
		return nil
	}
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	if told != "" {
		return client.IgnoreNotFound(c.Delete(ctx, m.share.DeepCopy(), client.Preconditions{UID: &m.share.UID, ResourceVersion: &m.share.ResourceVersion}))
	}
	patch, err := write.MergePatch(map[string]any{"metadata": map[string]any{
		"uid":             m.share.UID,
		"resourceVersion": m.share.ResourceVersion,
		"annotations":     map[string]any{quotav1alpha1.RemovalAnnotation: cmp.Or(s.fq.Spec.Removal.Policy, quotav1alpha1.RemovalRetain)},
	}})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Patch(ctx, m.share.DeepCopy(), patch))
}

// removalOf returns what a share was told shall become of its ResourceQuota, or "" if it was told nothing that an agent
// understands.
func removalOf(share *quotav1alpha1.QuotaShare) quotav1alpha1.RemovalPolicy {
	switch policy := quotav1alpha1.RemovalPolicy(share.Annotations[quotav1alpha1.RemovalAnnotation]); policy {
	case quotav1alpha1.RemovalRetain, quotav1alpha1.RemovalDelete:
		return policy
	default:
		return ""
	}
}

// removal returns what the share of a member that leaves was told shall become of the ResourceQuota; noted is what the ledger
// knows of that. The share itself knows better, as long as it is there, and one that is written again is about to be told otherwise.
func (s *scope) removal(m *member, noted quotav1alpha1.RemovalPolicy) quotav1alpha1.RemovalPolicy {
	switch {
	case m.selected:
		return ""
	case m.share == nil:
		return noted
	case s.removing() || s.ledger.Drained(m.name, m.report):
		return removalOf(m.share)
	}
	return ""
}
