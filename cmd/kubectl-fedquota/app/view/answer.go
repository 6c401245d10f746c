package view

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer says why a pod or a workload was refused or waits.
type Answer struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Waits says whether something is refused or waits.
	Waits bool `json:"waits"`
	// Pods is how many pods there are, and Missing how many there are not.
	Pods    int `json:"pods"`
	Missing int `json:"missing"`
	// Phase and Node are those of a pod. Infeasible says that its node can never give it what it shall have.
	Phase      corev1.PodPhase `json:"phase,omitempty"`
	Node       string          `json:"node,omitempty"`
	Infeasible bool            `json:"infeasible,omitempty"`
	// Suspended says that a Job is. WantedUntil is until when it states that it wants room, and Problem why what it states
	// does not count.
	Suspended   bool         `json:"suspended,omitempty"`
	WantedUntil *metav1.Time `json:"wantedUntil,omitempty"`
	Problem     string       `json:"problem,omitempty"`
	// Refusal is the last one that anybody remembers.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Room says whether one more pod would fit now.
	Room *Room `json:"room,omitempty"`
	// Unscheduled are the pods that were admitted and wait for a node.
	Unscheduled *Unscheduled `json:"unscheduled,omitempty"`
}

// Refusal is what an API server has answered, since when and when last.
type Refusal struct {
	Since   metav1.Time `json:"since"`
	Last    metav1.Time `json:"last"`
	By      string      `json:"by"`
	Message string      `json:"message"`
	Advice  string      `json:"advice,omitempty"`
}

// Room says whether one more pod would fit into each quota, and what helps.
type Room struct {
	Quotas []QuotaRoom `json:"quotas"`
	Help   []Help      `json:"help,omitempty"`
}

// QuotaRoom says whether one more pod would fit into one resource name of a quota.
type QuotaRoom struct {
	Quota    string              `json:"quota"`
	Resource corev1.ResourceName `json:"resource"`
	Asks     string              `json:"asks"`
	Used     string              `json:"used,omitempty"`
	Hard     string              `json:"hard,omitempty"`
	Fits     bool                `json:"fits"`
}

// Help is what is known beyond a quota that has no room, and what somebody may do. Without a quota it is of all.
type Help struct {
	Quota  string   `json:"quota,omitempty"`
	Known  []string `json:"known,omitempty"`
	Advice string   `json:"advice"`
}

// Unscheduled are pods that wait for a node.
type Unscheduled struct {
	Since metav1.Time `json:"since"`
	Count int         `json:"count"`
	// Pod is one of them, and Message what the scheduler says of it.
	Pod     string `json:"pod"`
	Message string `json:"message"`
	// Charged is what quotas charge them.
	Charged []QuotaCharge `json:"charged,omitempty"`
}

// QuotaCharge is what a quota charges.
type QuotaCharge struct {
	Quota   string              `json:"quota"`
	Amounts corev1.ResourceList `json:"amounts"`
}
