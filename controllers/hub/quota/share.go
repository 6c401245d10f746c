package quota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// mark leaves a marker on the Cluster before a share comes into being, or is that far ahead of the marker that a ledger
// which continues from it would give the same revisions again: from now on the cluster may hold a share, of a revision
// below those.
func (r *Reconciler) mark(ctx context.Context, s *scope, m *member) error {
	revision := min(s.decision.Ledger.Revision(), ledger.MostRevision) // a marker above that tells of no revision
	err := r.marks.Leave(m.cluster.Cluster, revision, func() (*clusterv1.Cluster, error) {
		cluster := m.cluster.DeepCopy()
		return cluster, r.Patch(ctx, cluster, patches.Merge{"metadata": map[string]any{
			"annotations": map[string]any{quotav1alpha1.MemberAnnotation: strconv.FormatInt(revision, 10)},
		}})
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNotMarked, err)
	}
	return nil
}

// create writes a share that gives nothing yet. The watch on it starts the round that writes what was decided.
func (r *Reconciler) create(ctx context.Context, c client.Client, s *scope, m *member) error {
	share := &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.fq.Namespace, Name: s.fq.Name, Finalizers: []string{quotav1alpha1.Finalizer},
			Annotations: map[string]string{quotav1alpha1.ClusterAnnotation: m.verdict.UID},
		},
		Spec: quotav1alpha1.QuotaShareSpec{
			Scopes: s.fq.Spec.Scopes, ScopeSelector: s.fq.Spec.ScopeSelector, Admission: m.verdict.Admission, Fleet: s.fleet,
			ExistingQuotas: m.verdict.Existing,
		},
	}
	share.Spec.Revision, share.Spec.Hard = s.decision.Ledger.FirstShare(m.Name, s.fq.Spec.Hard)
	err := c.Create(ctx, share)
	if members.IsMissingNamespace(err) && m.Selected && ptr.Deref(s.fq.Spec.Placement.CreateNamespace, false) {
		if err := c.Create(ctx, s.namespace()); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("%w: %w", errNoNamespace, err)
		}
		err = c.Create(ctx, share)
	}
	if err == nil { // one share more than was known of is a reason to look at all of the member
		r.Stores.Saw(m.Name, client.ObjectKeyFromObject(share), share.ResourceVersion)
	}
	return err
}

// errNoNamespace is that a member's API server did not take the namespace.
var errNoNamespace = errors.New("creating the namespace failed")

// namespace returns the namespace as it is created in members.
func (s *scope) namespace() *corev1.Namespace {
	template := &s.fq.Spec.Placement.NamespaceTemplate
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.fq.Namespace, Labels: template.Labels, Annotations: template.Annotations,
	}}
}

// update writes the ledger's revision and limit into the share that was read, and into no other that came in its place:
// the revisions of that may be of another ledger. It needs no resourceVersion: the member's API server refuses a lower
// revision, and another limit at the same one. But that a share is to be removed is taken back only as it was read: one
// that was deleted meanwhile has to keep it.
func (r *Reconciler) update(ctx context.Context, c client.Client, s *scope, m *member) error {
	revision, hard := s.decision.Ledger.Share(m.Name, s.fq.Spec.Hard)
	e, _ := s.decision.Ledger.Entry(m.Name)
	if m.share.Spec.Revision == revision {
		keepNotation(hard, m.share.Spec.Hard)
	}
	// The share may have names that a cache does not show yet: they are granted until they are dropped.
	before := maps.Clone(m.share.Spec.Hard)
	for name := range e.Granted {
		before[name] = resource.Quantity{}
	}
	annotations := map[string]any{quotav1alpha1.ClusterAnnotation: m.verdict.UID}
	metadata := map[string]any{"uid": m.share.UID, "annotations": annotations}
	if _, told := m.share.Annotations[quotav1alpha1.RemovalAnnotation]; told {
		annotations[quotav1alpha1.RemovalAnnotation] = nil
		metadata["resourceVersion"] = m.share.ResourceVersion
	}
	return c.Patch(ctx, m.share.DeepCopy(), patches.Merge{
		"metadata": metadata,
		"spec": map[string]any{
			"revision":       revision,
			"hard":           patches.Replacing(before, hard),
			"admission":      admissionPatch(m.verdict.Admission),
			"existingQuotas": existingPatch(m.verdict.Existing),
			"takeOver":       takeOverPatch(m.share.Spec.TakeOver, m.verdict.TakeOver, s.fq.Spec.Hard),
			"pong":           max(m.share.Spec.Pong, m.share.Status.Ping),
			"fleet":          fleetPatch(m.share.Spec.Fleet, s.fleet),

			"mostAllocatable": mostPatch(m.share.Spec.MostAllocatable, m.verdict.MostAllocatable, s.nodes[m.Name]),
		},
	})
}

// keepNotation writes the quantities of a list that are equal to those of another one as that does: API servers take no
// other limit at the same revision, and compare what is written.
func keepNotation(list, as corev1.ResourceList) {
	for name, quantity := range list {
		if written, ok := as[name]; ok && written.Cmp(quantity) == 0 {
			list[name] = written
		}
	}
}

// admissionPatch returns the merge patch that leaves nothing but admission.
func admissionPatch(admission quotav1alpha1.Admission) any {
	if admission == (quotav1alpha1.Admission{}) {
		return nil
	}
	return map[string]any{
		"mode": orNil(admission.Mode), "waitMilliseconds": admission.WaitMilliseconds, "poke": orNil(admission.Poke),
	}
}

// existingPatch returns the merge patch that leaves nothing but existing.
func existingPatch(existing quotav1alpha1.ExistingQuotas) any {
	if len(existing.Accepted) == 0 && existing.WhenToTakeOver == "" {
		return nil
	}
	patch := map[string]any{"accepted": existing.Accepted, "whenToTakeOver": orNil(existing.WhenToTakeOver)}
	if len(existing.Accepted) == 0 {
		patch["accepted"] = nil
	}
	return patch
}

// takeOverPatch returns the merge patch that turns old into what may be taken over.
func takeOverPatch(old *quotav1alpha1.TakeOver, allowed *shares.TakeOver, like corev1.ResourceList) any {
	if allowed == nil {
		return nil
	}
	var before corev1.ResourceList
	if old != nil {
		before = old.Hard
	}
	return map[string]any{"uid": allowed.UID, "hard": patches.Replacing(before, allowed.Hard.ToList(like))}
}

// mostPatch returns the merge patch that turns old into what nodes can come to have, in the formats of their report.
func mostPatch(old corev1.ResourceList, most amount.List, report *quotav1alpha1.ClusterCapacity) any {
	if len(most) == 0 {
		return nil
	}
	return patches.Replacing(old, most.ToList(report.Allocatable))
}

// fleetPatch returns the merge patch that turns old into fleet.
func fleetPatch(old, fleet quotav1alpha1.Fleet) any {
	if len(fleet.Budget)+len(fleet.Used) == 0 {
		return nil
	}
	return map[string]any{
		"budget":  patches.Replacing(old.Budget, fleet.Budget),
		"used":    patches.Replacing(old.Used, fleet.Used),
		"waiting": fleet.Waiting,
	}
}

// orNil returns nil for an empty string, which a merge patch takes as removal.
func orNil[T ~string](value T) any {
	if value == "" {
		return nil
	}
	return value
}
