package cli

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

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
	quotav1alpha1.ConditionLedgerFull: "Select fewer clusters, or wait until others have left.",
	quotav1alpha1.ConditionKindNotServed: "All other names are enforced. This one is counted once the kind is there: install its CRD, or take " +
		"the name out of spec.hard.",
	quotav1alpha1.ConditionUnknownCluster: "The other clusters go on. Correct the name.",
	quotav1alpha1.ConditionUnguarded: "Without guard and fence nothing is enforced anew and nothing is reported. Apply the agent's manifests " +
		"again: kubectl fedquota bundle",
	quotav1alpha1.ConditionChargesRefused: "Nothing that counts can be created there. Have the policy or webhook that the message names " +
		"leave resourcequotas/status alone.",
	quotav1alpha1.ConditionNodesFull: "Pods find no node, so the hub gives this cluster no more headroom. Add nodes, or ask for less.",
}

// Advice says what a condition of a budget means, and what somebody may do.
func Advice(c *metav1.Condition, name string) string {
	return strings.ReplaceAll(advice[c.Type], "NAME", name)
}

// StateStyle is how the state of a cluster looks.
func StateStyle(state quotav1alpha1.ClusterState) text.Style {
	switch state {
	case quotav1alpha1.ClusterSettled:
		return text.Green
	case quotav1alpha1.ClusterSettling, quotav1alpha1.ClusterDraining, quotav1alpha1.ClusterLeaving:
		return text.Yellow
	}
	return text.Red
}

// ClustersOf names the clusters of a budget.
func ClustersOf(fq *quotav1alpha1.FederatedQuota) string {
	var names []string
	for i, c := range fq.Status.Clusters {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(fq.Status.Clusters)-i))
			break
		}
		names = append(names, string(c.Name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Summary returns the status of the condition that sums an object up, Unknown if there is none.
func Summary(conditions []metav1.Condition, summary string) string {
	if c := apimeta.FindStatusCondition(conditions, summary); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}
