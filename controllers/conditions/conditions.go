// Package conditions sets the conditions of objects.
package conditions

import (
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// limit keeps the message of a condition within its schema, and readable.
const limit = 4096

// True returns a condition that holds.
func True(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// False returns a condition that does not hold.
func False(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Summary returns Ready, and the condition that says of one that does not hold whether somebody has to act.
func Summary(ready metav1.Condition) []metav1.Condition {
	switch ready.Reason {
	case quotav1alpha1.ReasonEnforced:
		return []metav1.Condition{ready}
	case quotav1alpha1.ReasonInvalidSpec:
		return []metav1.Condition{ready, True(quotav1alpha1.ConditionStalled, ready.Reason, ready.Message)}
	}
	return []metav1.Condition{ready, True(quotav1alpha1.ConditionReconciling, ready.Reason, ready.Message)}
}

// Replace replaces all conditions; one that is not wanted any longer goes.
func Replace(into *[]metav1.Condition, wanted []metav1.Condition, generation int64, now time.Time) {
	*into = slices.DeleteFunc(
		*into, func(c metav1.Condition) bool { return apimeta.FindStatusCondition(wanted, c.Type) == nil },
	)
	for _, c := range wanted {
		Set(into, c, generation, now)
	}
}

// Set sets one condition, and leaves the others.
func Set(into *[]metav1.Condition, wanted metav1.Condition, generation int64, now time.Time) {
	wanted.Message = Truncated(wanted.Message, limit)
	wanted.ObservedGeneration = generation
	wanted.LastTransitionTime = metav1.NewTime(now)
	apimeta.SetStatusCondition(into, wanted)
}

// Truncated returns no more of a text than so many bytes, and says by dots where it left something out.
func Truncated(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
