package member

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
	"github.com/fedquota/fedquota/internal/amount"
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

// enforces says whether the spec of quota is hard at revision.
func enforces(quota *corev1.ResourceQuota, revision int64, hard corev1.ResourceList) bool {
	return revisionOf(quota) == revision && quotav1.Equals(quota.Spec.Hard, hard)
}

// revisionOf returns the revision that a managed ResourceQuota enforces. It is 0 for one that is not managed.
func revisionOf(quota *corev1.ResourceQuota) int64 {
	if !managed(quota) {
		return 0
	}
	return revisionIn(quota, quotav1alpha1.RevisionAnnotation)
}

// lastRevisionOf returns the revision that a ResourceQuota enforces, or did when it was released: an older share is none of
// its business any more.
func lastRevisionOf(quota *corev1.ResourceQuota) int64 {
	if managed(quota) {
		return revisionOf(quota)
	}
	return revisionIn(quota, quotav1alpha1.ReleasedAnnotation)
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

// limits returns what quota shall enforce for the share: the share's limit, or what is used where that is more, so that
// the limit follows usage down. What native quota has let rise above the present limit raises no limit: nobody has granted
// that. Within one revision a limit only ever goes down, also of what was released at it.
func limits(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) corev1.ResourceList {
	sameRevision := lastRevisionOf(quota) == share.Spec.Revision
	hard := make(corev1.ResourceList, len(share.Spec.Hard))
	for name, limit := range share.Spec.Hard {
		used := quota.Status.Used[name]
		current, limited := quota.Spec.Hard[name]
		if limited && managed(quota) {
			used = smaller(used, current)
		}
		limit = larger(limit, used)
		if sameRevision && limited {
			limit = smaller(limit, current)
		}
		hard[name] = limit
	}
	return hard
}

// yielding returns limits for the attempt-th try after the guard refused to go below what is used, because usage rose
// meanwhile: each try leaves more room up to the present limit, which the last one keeps.
func yielding(hard corev1.ResourceList, quota *corev1.ResourceQuota, attempt, attempts int64) corev1.ResourceList {
	wanted, present := amount.Saturate(hard, amount.Up), amount.Saturate(quota.Spec.Hard, amount.Up)
	loose := hard.DeepCopy()
	for name, limit := range hard {
		used := quota.Status.Used[name]
		switch gap := present[name] - wanted[name]; {
		case gap <= 0 || limit.Cmp(used) > 0:
		case attempt >= attempts:
			loose[name] = quota.Spec.Hard[name]
		default:
			loose[name] = amount.ToQuantity(name, wanted[name]+gap/attempts*attempt, limit.Format)
		}
	}
	return loose
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

// statusPatch returns the patch that brings the limit in force to spec.hard, or nil if it is there. A name whose
// usage is not known yet is left to the quota controller: limiting it would refuse every request. So is one that left
// spec.hard: it may be all that limits the namespace until the names that came are counted, and nothing is charged under
// a name that is not in force, so that its usage would be wrong if it came back.
func statusPatch(quota *corev1.ResourceQuota) (client.Patch, error) {
	hard := make(corev1.ResourceList, len(quota.Spec.Hard))
	maps.Copy(hard, quota.Status.Hard)
	for name, limit := range quota.Spec.Hard {
		_, known := quota.Status.Used[name]
		if _, limited := quota.Status.Hard[name]; known || limited {
			hard[name] = limit
		}
	}
	if quotav1.Equals(hard, quota.Status.Hard) {
		return nil, nil
	}
	return whileManaged(quota, write.Operation{Op: "add", Path: write.Pointer("status", "hard"), Value: hard})
}

// releasePatch returns the patch that hands a ResourceQuota over to the users of the member, limited to what is
// used; no limit goes up. Its revision stays on it: the ledger forgets the cluster, and a share may still be on its way.
func releasePatch(quota *corev1.ResourceQuota) (client.Patch, error) {
	hard := make(corev1.ResourceList, len(quota.Spec.Hard))
	for name, limit := range quota.Spec.Hard {
		hard[name] = limit
		if used, known := quota.Status.Used[name]; known {
			hard[name] = smaller(used, limit)
		}
	}
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
		write.Operation{Op: "add", Path: write.Pointer("spec", "hard"), Value: hard})...)
}

func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

func smaller(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}
