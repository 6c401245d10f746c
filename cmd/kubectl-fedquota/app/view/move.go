package view

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Move is a limit that moved, or something else that happened to a budget.
type Move struct {
	Time metav1.Time `json:"time"`
	// Reason is that of the event.
	Reason string `json:"reason"`
	// Resource, Cluster, From, To and Why are those of a limit.
	Resource corev1.ResourceName `json:"resource,omitempty"`
	Cluster  string              `json:"cluster,omitempty"`
	From     string              `json:"from,omitempty"`
	To       string              `json:"to,omitempty"`
	Why      string              `json:"why,omitempty"`
	// Message is that of an event which tells of no limit.
	Message string `json:"message,omitempty"`
}

// Moved is a move, in words that people read.
type Moved struct {
	Move `json:",inline"`

	// Words say why.
	Words string `json:"words,omitempty"`
}
