package view

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// Condition is one of a budget, with what somebody may do.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
	Since   metav1.Time            `json:"since"`
	Advice  string                 `json:"advice,omitempty"`
}

// Event is one about a budget.
type Event struct {
	Time    metav1.Time `json:"time"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
}

// advice says what a condition means, and what somebody may do. NAME stands for the name of the budget.
var advice = map[string]string{
	quotav1alpha1.ConditionUnreachable: "What the cluster was granted stays granted. Repair the connection. If the cluster is gone for good: " +
		"kubectl fedquota leave CLUSTER --destroyed REASON",
	quotav1alpha1.ConditionRebuilding: "Make the cluster reachable. One whose granted is unknown may hold anything, so no limit goes up.",
	quotav1alpha1.ConditionMemberNotReady: "The cluster cannot take or enforce its share, so its limit does not go up. " +
		"Mend what the message names.",
	quotav1alpha1.ConditionDraining: "Nothing that runs is touched: the limit follows usage down. Scale down there, or raise the cluster's " +
		"weight or the budget.",
	quotav1alpha1.ConditionDebt: "No limit of that resource goes up until it is gone. Wait, scale down, or raise the budget.",
	quotav1alpha1.ConditionStuckQuotaController: "Nothing is recounted there, and the limit does not move. Repair the cluster's " +
		"kube-controller-manager.",
	quotav1alpha1.ConditionForeignQuota: "The budget is enforced all the same. Remove them where they are made, or accept them: " +
		"spec.existingQuotas.accepted.",
	quotav1alpha1.ConditionBreakGlass: "The limit there does not move. End it, in that cluster: kubectl fedquota mend NAME",
	quotav1alpha1.ConditionLedgerFull: "Select fewer clusters, have some children name another pool, or wait until others have left.",
	quotav1alpha1.ConditionKindNotServed: "All other names are enforced. This one is counted once the kind is there: install its CRD, or take " +
		"the name out of spec.hard.",
	quotav1alpha1.ConditionNameNotCounted: "All other names are enforced. Have a FederatedQuota of the namespace without these scopes name " +
		"the pool, too, or take the name out of the pool.",
	quotav1alpha1.ConditionChildNotReady:  "What such a child has stays, and the others go on. Correct it, or what the pool allows.",
	quotav1alpha1.ConditionUnknownCluster: "The other clusters go on. Correct the name.",
	quotav1alpha1.ConditionUnguarded: "Without guard and fence nothing is enforced anew and nothing is reported. Apply the agent's manifests " +
		"again: kubectl fedquota bundle",
	quotav1alpha1.ConditionChargesRefused: "Nothing that counts can be created there. Have the policy or webhook that the message names " +
		"leave resourcequotas/status alone.",
	quotav1alpha1.ConditionNodesFull: "Pods find no node, so the hub gives this cluster no more headroom. Add nodes, or ask for less.",
}

// Advice says what a condition of a budget means, and what somebody may do.
func Advice(condition, name string) string {
	return strings.ReplaceAll(advice[condition], "NAME", name)
}

// summaryOf returns the condition that sums an object up, nil if there is none.
func summaryOf(conditions []metav1.Condition, summary string) *Condition {
	if c := apimeta.FindStatusCondition(conditions, summary); c != nil {
		return new(conditionOf(c, ""))
	}
	return nil
}

func conditionOf(c *metav1.Condition, name string) Condition {
	return Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime, Advice: Advice(c.Type, name)}
}

// othersOf returns all conditions of a budget but those that sum it up, for people or for tools.
func othersOf(conditions []metav1.Condition, name string) []Condition {
	var others []Condition
	for i := range conditions {
		switch c := &conditions[i]; c.Type {
		case quotav1alpha1.ConditionReady, quotav1alpha1.ConditionEnforced, quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled:
		default:
			others = append(others, conditionOf(c, name))
		}
	}
	return others
}
