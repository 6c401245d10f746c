package scaleout

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
)

// messageLimit keeps messages within their schema, and noteLimit events within what the API server takes.
const (
	messageLimit = 1024
	noteLimit    = 1000
)

func truncated(text string) string { return conditions.Truncated(text, messageLimit) }

// heldBack are the reasons for which what is asked for gets no nodes until somebody does something.
var heldBack = []string{
	quotav1alpha1.ReasonNoMachineFits, quotav1alpha1.ReasonAtMaximum, quotav1alpha1.ReasonAtCapacityQuota,
	quotav1alpha1.ReasonNodesBringNothing, quotav1alpha1.ReasonScaleRefused,
}

// Keep returns the condition that this controller has set, for rounds that write all others; with the status it ends
// where the budget asks for no nodes any more.
func Keep(
	rule *quotav1alpha1.Capacity, status **quotav1alpha1.ScaleOutStatus, all []metav1.Condition,
) []metav1.Condition {
	if rule == nil || rule.ScaleOut == nil {
		*status = nil
		return nil
	}
	if c := apimeta.FindStatusCondition(all, quotav1alpha1.ConditionScaleOutHeldBack); c != nil {
		return []metav1.Condition{*c}
	}
	return nil
}

// condition returns the one that a status makes, nil if it makes none.
func condition(status *quotav1alpha1.ScaleOutStatus) *metav1.Condition {
	if !slices.Contains(heldBack, status.Reason) {
		return nil
	}
	return &metav1.Condition{
		Type: quotav1alpha1.ConditionScaleOutHeldBack, Status: metav1.ConditionTrue,
		Reason: status.Reason, Message: status.Message,
	}
}
