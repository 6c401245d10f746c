// Package conditions sets the conditions of objects.
package conditions

import (
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limit keeps the message of a condition within its schema, and readable.
const limit = 4096

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
