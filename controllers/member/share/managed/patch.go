package managed

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// revisionPath leads to the revision of a ResourceQuota.
var revisionPath = patches.Pointer("metadata", "annotations", quotav1alpha1.RevisionAnnotation)

// New returns the managed ResourceQuota of a share that has none yet.
func New(share *quotav1alpha1.QuotaShare, hard corev1.ResourceList) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   share.Namespace,
			Name:        share.Name,
			Labels:      map[string]string{quotav1alpha1.ManagedLabel: "true"},
			Annotations: map[string]string{quotav1alpha1.RevisionAnnotation: nativequota.FormatRevision(share.Spec.Revision)},
		},
		Spec: corev1.ResourceQuotaSpec{
			Hard:          hard,
			Scopes:        share.Spec.Scopes,
			ScopeSelector: share.Spec.ScopeSelector,
		},
	}
}

// SpecPatch returns the patch that makes hard and the share's revision the spec of quota, both at once. One that was
// released, or that others have made, is taken over with it, as it was read.
func SpecPatch(quota *corev1.ResourceQuota, revision int64, hard corev1.ResourceList) client.Patch {
	text := nativequota.FormatRevision(revision)
	if nativequota.IsManaged(quota) && len(quota.Annotations) > 0 {
		return WhileManaged(
			quota,
			patches.Operation{Op: "add", Path: revisionPath, Value: text},
			patches.Operation{Op: "add", Path: patches.Pointer("spec", "hard"), Value: hard},
		)
	}
	labels := map[string]any{quotav1alpha1.ManagedLabel: "true"}
	if IsForeign(quota) {
		labels[quotav1alpha1.TakesOverLabel] = "true"
	}
	return patches.Merge{
		"metadata": map[string]any{
			"resourceVersion": quota.ResourceVersion,
			"labels":          labels,
			"annotations": map[string]any{
				quotav1alpha1.RevisionAnnotation: text, quotav1alpha1.ReleasedAnnotation: nil, quotav1alpha1.NoteAnnotation: nil,
				quotav1alpha1.ToBeTakenOverAnnotation: nil,
			},
		},
		"spec": map[string]any{"hard": patches.Replacing(quota.Spec.Hard, hard)},
	}
}

// WhileManaged returns the patch that changes quota as long as it is managed. Another agent may have released it since
// it was read, and then neither guard nor fence judges what comes late.
func WhileManaged(quota *corev1.ResourceQuota, change ...patches.Operation) patches.JSON {
	test := patches.Operation{
		Op: "test", Path: patches.Pointer("metadata", "labels", quotav1alpha1.ManagedLabel),
		Value: quota.Labels[quotav1alpha1.ManagedLabel],
	}
	return append(patches.JSON{test}, change...)
}

// StatusPatch returns the patch that brings what was written in force, or nil if it is there.
func StatusPatch(quota *corev1.ResourceQuota) client.Patch {
	hard := nativequota.StateOf(quota).Publish()
	if quotav1.Equals(hard, quota.Status.Hard) {
		return nil
	}
	return WhileManaged(quota, patches.Operation{Op: "add", Path: patches.Pointer("status", "hard"), Value: hard})
}

// ReleaseNote says what a ResourceQuota that is released means to who finds it.
func ReleaseNote(quota *corev1.ResourceQuota) string {
	return fmt.Sprintf(
		"fedquota has released this ResourceQuota: FederatedQuota %[1]s/%[2]s was deleted, or does not select this "+
			"cluster any more. Its limit is what was used then, so nothing more can be created. A FederatedQuota of any "+
			"name that limits the same resources here takes its place. "+
			"To lift it: kubectl delete resourcequota -n %[1]s %[2]s",
		quota.Namespace, quota.Name,
	)
}

// ReleasePatch returns the patch that hands a ResourceQuota over to the users of the member. Its revision stays on it:
// the ledger forgets the cluster, and a share may still be on its way. reported is the usage that the hub was told of
// last.
func ReleasePatch(quota *corev1.ResourceQuota, reported corev1.ResourceList) client.Patch {
	annotations := maps.Clone(quota.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	var change []patches.Operation
	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok {
		change = append(change, patches.Operation{Op: "test", Path: revisionPath, Value: text})
	}
	delete(annotations, quotav1alpha1.RevisionAnnotation)
	annotations[quotav1alpha1.NoteAnnotation] = ReleaseNote(quota)
	annotations[quotav1alpha1.ReleasedAnnotation] = nativequota.FormatRevision(nativequota.Revision(quota))
	return WhileManaged(quota, append(
		change,
		patches.Operation{Op: "remove", Path: patches.Pointer("metadata", "labels", quotav1alpha1.ManagedLabel)},
		patches.Operation{Op: "add", Path: patches.Pointer("metadata", "annotations"), Value: annotations},
		patches.Operation{
			Op: "add", Path: patches.Pointer("spec", "hard"), Value: nativequota.StateOf(quota).Release(reported),
		},
	)...)
}
