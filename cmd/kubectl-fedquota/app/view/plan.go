package view

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Plan says what applying a FederatedQuota or a QuotaPool would change.
type Plan struct {
	// Kind is left out for a FederatedQuota.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Exists says whether there is a budget of the name now.
	Exists bool `json:"exists"`
	// Changes says whether a limit would change.
	Changes bool `json:"changes"`
	// Halted and HaltedReason say why the hub manager would not act on the spec.
	Halted       string `json:"halted,omitempty"`
	HaltedReason string `json:"haltedReason,omitempty"`
	// Budget is what changes of the budget.
	Budget []BudgetChange `json:"budget,omitempty"`
	// ScaleOut says which nodes would be added now, where the budget asks for that.
	ScaleOut string `json:"scaleOut,omitempty"`
	// Conditions are those once limits have come to rest, left out for a QuotaPool. Debt is what stays granted above the
	// budget of that.
	Conditions []metav1.Condition  `json:"conditions,omitempty"`
	Debt       corev1.ResourceList `json:"debt,omitempty"`
	Limits     []PlannedLimit      `json:"limits"`
	// Uncounted are the clusters that join in which nobody has counted what is used: that counts as nothing here.
	Uncounted []string `json:"uncounted,omitempty"`
	// Hints say what could not be read, and what is taken instead.
	Hints []string `json:"hints,omitempty"`
}

// BudgetChange is another budget of a resource name; what is not there is left out.
type BudgetChange struct {
	Resource corev1.ResourceName `json:"resource"`
	Before   string              `json:"before,omitempty"`
	After    string              `json:"after,omitempty"`
}

// PlannedLimit is one limit in a plan: of a cluster, or the target of a child of a pool.
type PlannedLimit struct {
	Cluster  string              `json:"cluster,omitempty"`
	Child    string              `json:"child,omitempty"`
	Resource corev1.ResourceName `json:"resource"`
	Used     string              `json:"used"`
	Demand   string              `json:"demand"`
	// Before is the target now, Planned the one at rest, and Finally the one once usage above targets has ended.
	Before  string `json:"before"`
	Planned string `json:"planned"`
	Finally string `json:"finally"`
	// Change is by how much the limit goes up or down, such as +5.
	Change string `json:"change,omitempty"`
	// Joins and Leaves say what becomes of the cluster.
	Joins  bool   `json:"joins,omitempty"`
	Leaves bool   `json:"leaves,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Changes says whether anything about the limit changes.
func (l *PlannedLimit) Changes() bool {
	return l.Change != "" || l.Finally != l.Planned || l.Joins || l.Leaves
}

// BudgetChanges returns what changes from one budget to another.
func BudgetChanges(before, after corev1.ResourceList) []BudgetChange {
	var changes []BudgetChange
	for _, name := range (Only{}).names(before, after) {
		if was, is := AmountOf(before, name), AmountOf(after, name); was != is {
			changes = append(changes, BudgetChange{Resource: name, Before: was, After: is})
		}
	}
	return changes
}
