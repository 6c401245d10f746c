package input

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/shares"
)

// Said returns conditions as a round reads them, by type.
func Said(conditions []metav1.Condition) map[string]shares.Condition {
	said := make(map[string]shares.Condition, len(conditions))
	for _, c := range conditions {
		holds := c.Status == metav1.ConditionTrue
		said[c.Type] = shares.Condition{Type: c.Type, True: holds, Reason: c.Reason, Message: c.Message}
	}
	return said
}

// Conditions returns what a round has found as conditions.
func Conditions(found []shares.Condition) []metav1.Condition {
	conditions := make([]metav1.Condition, len(found))
	for i, c := range found {
		conditions[i] = metav1.Condition{Type: c.Type, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message}
		if c.True {
			conditions[i].Status = metav1.ConditionTrue
		}
	}
	return conditions
}
