package quota

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/shares"
)

// free takes the finalizer off a deleted share whose agent does not, where the namespace is being deleted, and says
// whether it is: the limit goes with the namespace, so there is nothing that an agent could retain. What the member was
// granted stays granted until the namespace is gone.
func (r *Reconciler) free(ctx context.Context, s *scope, m *member) (bool, error) {
	c, err := r.writer(ctx, m)
	if err != nil {
		return false, err
	}
	probe := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: s.fq.Namespace, Name: s.fq.Name}}
	if err := c.Create(ctx, probe, client.DryRunAll); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, nil // no right to read namespaces is needed for that
	}
	share := &quotav1alpha1.QuotaShare{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(s.fq), share); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	stored := share.DeepCopy()
	if share.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(share, quotav1alpha1.Finalizer) {
		return true, nil
	}
	ctrl.LoggerFrom(ctx).Info("Letting a share go in a namespace that is being deleted: its agent does not act",
		"Cluster", m.Name)
	patch := patches.Since(stored)
	return true, client.IgnoreNotFound(c.Patch(ctx, share, patch))
}

// remove tells the share of a member that leaves what shall become of its ResourceQuota, and deletes it once the ledger
// notes that: a share that somebody else has deleted before was told nothing. Neither is done to a share that has
// changed since it was read: another hub manager may have selected the cluster again.
func (r *Reconciler) remove(ctx context.Context, s *scope, m *member) error {
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	if m.verdict.Order == shares.OrderRemove {
		asRead := client.Preconditions{UID: &m.share.UID, ResourceVersion: &m.share.ResourceVersion}
		return client.IgnoreNotFound(c.Delete(ctx, m.share.DeepCopy(), asRead))
	}
	policy := cmp.Or(s.fq.Spec.Removal.Policy, quotav1alpha1.RemovalRetain)
	return client.IgnoreNotFound(c.Patch(ctx, m.share.DeepCopy(), patches.Merge{"metadata": map[string]any{
		"uid":             m.share.UID,
		"resourceVersion": m.share.ResourceVersion,
		"annotations":     map[string]any{quotav1alpha1.RemovalAnnotation: policy},
	}}))
}
