package member

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
	"github.com/fedquota/fedquota/internal/ledger"
)

// newQuota returns the managed ResourceQuota of a share that has none yet.
func newQuota(share *quotav1alpha1.QuotaShare) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   share.Namespace,
			Name:        share.Name,
			Labels:      map[string]string{quotav1alpha1.ManagedLabel: "true"},
			Annotations: map[string]string{quotav1alpha1.RevisionAnnotation: strconv.FormatInt(share.Spec.Revision, 10)},
		},
		Spec: corev1.ResourceQuotaSpec{
			Hard:          share.Spec.Hard,
			Scopes:        share.Spec.Scopes,
			ScopeSelector: share.Spec.ScopeSelector,
		},
	}
}

// stateOf returns what the protocol knows of a ResourceQuota.
func stateOf(quota *corev1.ResourceQuota) ledger.Quota {
	state := ledger.Quota{Managed: managed(quota), Spec: quota.Spec.Hard, Hard: quota.Status.Hard, Used: quota.Status.Used}
	if state.Managed {
		state.Revision = revisionOf(quota)
	} else {
		state.Revision = revisionIn(quota, quotav1alpha1.ReleasedAnnotation)
	}
	return state
}

// revisionOf returns the revision that a managed ResourceQuota enforces. It is 0 for one that is not managed.
func revisionOf(quota *corev1.ResourceQuota) int64 {
	if !managed(quota) {
		return 0
	}
	return revisionIn(quota, quotav1alpha1.RevisionAnnotation)
}

// revisionIn returns the revision that an annotation states, and 0 for what the guard, too, takes for no revision.
func revisionIn(quota *corev1.ResourceQuota, annotation string) int64 {
	text := quota.Annotations[annotation]
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 1 || strconv.FormatInt(revision, 10) != text {
		return 0
	}
	return revision
}

// specPatch returns the patch that makes hard and the share's revision the spec of quota, both at once. One that was released
// is taken over with it, as it was read.
func specPatch(quota *corev1.ResourceQuota, revision int64, hard corev1.ResourceList) (client.Patch, error) {
	text := strconv.FormatInt(revision, 10)
	if managed(quota) && len(quota.Annotations) > 0 {
		return whileManaged(quota,
			write.Operation{Op: "add", Path: write.Pointer("metadata", "annotations", quotav1alpha1.RevisionAnnotation), Value: text},
			write.Operation{Op: "add", Path: write.Pointer("spec", "hard"), Value: hard})
	}
	return write.MergePatch(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": quota.ResourceVersion,
			"labels":          map[string]any{quotav1alpha1.ManagedLabel: "true"},
			"annotations":     map[string]any{quotav1alpha1.RevisionAnnotation: text, quotav1alpha1.ReleasedAnnotation: nil},
		},
		"spec": map[string]any{"hard": write.Replacing(quota.Spec.Hard, hard)},
	})
}

// whileManaged returns the patch that changes quota as long as it is managed. Another agent may have released it since it was
// read, and then neither guard nor fence judges what comes late.
func whileManaged(quota *corev1.ResourceQuota, change ...write.Operation) (client.Patch, error) {
	test := write.Operation{Op: "test", Path: write.Pointer("metadata", "labels", quotav1alpha1.ManagedLabel), Value: quota.Labels[quotav1alpha1.ManagedLabel]}
	return write.JSONPatch(append([]write.Operation{test}, change...)...)
}

// statusPatch returns the patch that brings what was written in force, or nil if it is there.
func statusPatch(quota *corev1.ResourceQuota) (client.Patch, error) {
	hard := stateOf(quota).Publish()
	if quotav1.Equals(hard, quota.Status.Hard) {
		return nil, nil
	}
	return whileManaged(quota, write.Operation{Op: "add", Path: write.Pointer("status", "hard"), Value: hard})
}

// releasePatch returns the patch that hands a ResourceQuota over to the users of the member. Its revision stays on it: the ledger
// forgets the cluster, and a share may still be on its way. reported is the usage that the hub was told of last.
func releasePatch(quota *corev1.ResourceQuota, reported corev1.ResourceList) (client.Patch, error) {
	annotations := maps.Clone(quota.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	var change []write.Operation
	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok {
		change = append(change, write.Operation{Op: "test", Path: write.Pointer("metadata", "annotations", quotav1alpha1.RevisionAnnotation), Value: text})
	}
	delete(annotations, quotav1alpha1.RevisionAnnotation)
	annotations[quotav1alpha1.ReleasedAnnotation] = strconv.FormatInt(revisionOf(quota), 10)
	return whileManaged(quota, append(change,
		write.Operation{Op: "remove", Path: write.Pointer("metadata", "labels", quotav1alpha1.ManagedLabel)},
		write.Operation{Op: "add", Path: write.Pointer("metadata", "annotations"), Value: annotations},
		write.Operation{Op: "add", Path: write.Pointer("spec", "hard"), Value: stateOf(quota).Release(reported)})...)
}
