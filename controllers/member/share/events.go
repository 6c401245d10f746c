package share

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// announce writes an event for each condition that has changed its status or reason.
func (r *Reconciler) announce(share *quotav1alpha1.QuotaShare, before, after []metav1.Condition) {
	for _, c := range after {
		was := apimeta.FindStatusCondition(before, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeWarning
		switch c.Reason {
		case quotav1alpha1.ReasonEnforced, quotav1alpha1.ReasonPending, quotav1alpha1.ReasonOtherQuotas:
			kind = corev1.EventTypeNormal
		}
		r.Recorder.Eventf(share, nil, kind, c.Reason, "Enforce", "%s", c.Message)
	}
}
