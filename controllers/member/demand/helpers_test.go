package demand

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

func podsOnly(count string) corev1.ResourceList {
	if count == "" {
		return nil
	}
	return corev1.ResourceList{"pods": resource.MustParse(count)}
}

// inForce returns a share of so many pods, and its ResourceQuota that enforces it.
func inForce(pods, used string) (*quotav1alpha1.QuotaShare, *corev1.ResourceQuota) {
	share := &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Revision: 3, Hard: podsOnly(pods)}}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "1",
			Labels:          map[string]string{quotav1alpha1.ManagedLabel: "true"},
			Annotations:     map[string]string{quotav1alpha1.RevisionAnnotation: "3"},
		},
		Spec:   corev1.ResourceQuotaSpec{Hard: podsOnly(pods)},
		Status: corev1.ResourceQuotaStatus{Hard: podsOnly(pods), Used: podsOnly(used)},
	}
	return share, quota
}
