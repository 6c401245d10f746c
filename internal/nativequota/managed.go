package nativequota

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// IsManaged says whether a ResourceQuota enforces a share.
func IsManaged(quota *corev1.ResourceQuota) bool {
	_, managed := quota.Labels[quotav1alpha1.ManagedLabel]
	return managed
}

// ToBeTakenOver says whether an agent is about to make a ResourceQuota its own that it has not made.
func ToBeTakenOver(quota *corev1.ResourceQuota) bool {
	_, annotated := quota.Annotations[quotav1alpha1.ToBeTakenOverAnnotation]
	return annotated
}

// IsReleased says whether a ResourceQuota enforced a share once, and was handed over to the users of the cluster.
func IsReleased(quota *corev1.ResourceQuota) bool {
	_, released := quota.Annotations[quotav1alpha1.ReleasedAnnotation]
	return released
}

// Revision returns the revision that a managed ResourceQuota enforces. It is 0 for one that is not managed.
func Revision(quota *corev1.ResourceQuota) int64 {
	if !IsManaged(quota) {
		return 0
	}
	return ParseRevision(quota.Annotations[quotav1alpha1.RevisionAnnotation])
}

// ParseRevision returns the revision that a text states, from 1 up. It is 0 for all that the guard, too, takes for no
// revision: a sign, a leading zero, a space, or a number that an int64 does not hold.
func ParseRevision(text string) int64 {
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 1 || FormatRevision(revision) != text {
		return 0
	}
	return revision
}

// FormatRevision returns the text that states a revision.
func FormatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }

// BrokenGlass returns the reason for which somebody took a ResourceQuota out of the agent's hands, or "".
func BrokenGlass(quota *corev1.ResourceQuota) string {
	return strings.TrimSpace(quota.Annotations[quotav1alpha1.BreakGlassAnnotation])
}

// Uncounted returns the names in spec.hard that the quota controller has taken over but counts nothing under, sorted.
func Uncounted(quota *corev1.ResourceQuota) []string {
	var names []string
	for name := range quota.Spec.Hard {
		_, limited := quota.Status.Hard[name]
		if _, known := quota.Status.Used[name]; limited && !known {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// StateOf returns what the protocol knows of a ResourceQuota.
func StateOf(quota *corev1.ResourceQuota) ledger.Quota {
	state := ledger.Quota{
		Managed: IsManaged(quota), Revision: Revision(quota),
		Spec: quota.Spec.Hard, Hard: quota.Status.Hard, Used: quota.Status.Used,
	}
	if !state.Managed {
		state.Revision = ParseRevision(quota.Annotations[quotav1alpha1.ReleasedAnnotation])
	}
	return state
}
