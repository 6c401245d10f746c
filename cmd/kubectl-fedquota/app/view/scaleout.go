package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// ScaleOut is what is done to add nodes for a budget.
type ScaleOut struct {
	// Reason is left out while no hub manager has looked at it. Message says it in words.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// LastStep is what was scaled last and why, LastStepTime when that was, and Outcome what has become of it.
	LastStep     string                        `json:"lastStep,omitempty"`
	LastStepTime *metav1.Time                  `json:"lastStepTime,omitempty"`
	Outcome      quotav1alpha1.ScaleOutOutcome `json:"outcome,omitempty"`
}

// scaleOutOf returns what is done to add nodes, nil for a budget that does not ask for that.
func scaleOutOf(rule *quotav1alpha1.Capacity, status *quotav1alpha1.ScaleOutStatus) *ScaleOut {
	switch {
	case rule == nil || rule.ScaleOut == nil:
		return nil
	case status == nil:
		return &ScaleOut{Message: "no hub manager adds nodes yet: does it run with --scale-out?"}
	}
	s := &ScaleOut{Reason: status.Reason, Message: status.Message}
	if last := status.LastStep; last != nil {
		s.LastStep, s.LastStepTime, s.Outcome = last.Message, &last.Time, last.Outcome
	}
	return s
}
