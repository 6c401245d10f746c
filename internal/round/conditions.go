package round

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Conditions returns all conditions of the round: Ready first, the others only while they are true.
func (d *Decision) Conditions() []metav1.Condition {
	abnormal := d.abnormal()
	ready := d.ready(len(abnormal) > 0)
	conditions := []metav1.Condition{ready}
	switch ready.Reason {
	case quotav1alpha1.ReasonInvalidSpec, quotav1alpha1.ReasonConflict, quotav1alpha1.ReasonNoClusters:
		conditions = append(conditions, yes(quotav1alpha1.ConditionStalled, ready.Reason, ready.Message))
	case quotav1alpha1.ReasonSettling, quotav1alpha1.ReasonDegraded, quotav1alpha1.ReasonRemoving:
		conditions = append(conditions, yes(quotav1alpha1.ConditionReconciling, ready.Reason, ready.Message))
	}
	return append(conditions, abnormal...)
}

func yes(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// ready returns the summary.
func (d *Decision) ready(abnormal bool) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: quotav1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	in, waiting := d.round.in, d.unsettled()
	switch {
	case in.Removing:
		return no(quotav1alpha1.ReasonRemoving, "Waiting for clusters to confirm the removal: "+waiting)
	case in.halted():
		return no(in.Halted.Reason, in.Halted.Message)
	case !in.selectsAny():
		return no(quotav1alpha1.ReasonNoClusters, "The placement selects no Cluster: label a Cluster so that "+
			"spec.placement.clusterSelector matches it, or name one in spec.placement.clusters")
	case abnormal && waiting != "":
		return no(quotav1alpha1.ReasonDegraded, "Held back by clusters: "+waiting)
	case abnormal:
		return no(quotav1alpha1.ReasonDegraded, "See the other conditions")
	case waiting != "":
		return no(quotav1alpha1.ReasonSettling, "Waiting for clusters: "+waiting)
	}
	return metav1.Condition{
		Type: quotav1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: quotav1alpha1.ReasonSettled, Message: "Every cluster enforces its target",
	}
}

// unsettled names the children that are not settled, each with its state, and those without an entry that nothing is decided before.
func (d *Decision) unsettled() string {
	var names []string
	for _, v := range d.Verdicts {
		if v.State != "" && v.State != quotav1alpha1.ClusterSettled {
			names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.State))
		}
	}
	for _, name := range d.round.unseen {
		if _, known := d.Ledger.Entry(name); !known {
			names = append(names, name+" (not heard yet)")
		}
	}
	return Abbreviated(names)
}

// ofStates are the conditions that are there while children are in a state.
var ofStates = []struct {
	state             quotav1alpha1.ClusterState
	condition, reason string
}{
	{quotav1alpha1.ClusterUnread, quotav1alpha1.ConditionRebuilding, quotav1alpha1.ReasonUnread},
	{quotav1alpha1.ClusterUnreachable, quotav1alpha1.ConditionUnreachable, quotav1alpha1.ReasonNotConnected},
	{quotav1alpha1.ClusterNotReady, quotav1alpha1.ConditionMemberNotReady, quotav1alpha1.ReasonReported},
	{quotav1alpha1.ClusterDraining, quotav1alpha1.ConditionDraining, quotav1alpha1.ReasonUsageAboveTarget},
	{quotav1alpha1.ClusterStuck, quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ReasonReported},
	{quotav1alpha1.ClusterBreakGlass, quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ReasonReported},
}

// abnormal returns the conditions that are there only while they are true.
func (d *Decision) abnormal() []metav1.Condition {
	var conditions []metav1.Condition
	for _, kind := range ofStates {
		if names := d.inState(kind.state); names != "" {
			conditions = append(conditions, yes(kind.condition, kind.reason, names))
		}
	}
	if names := d.foreign(); names != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ReasonReported, names))
	}
	if strangers := d.round.in.Strangers; len(strangers) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ReasonNotFound,
			"No such Cluster in the namespace of the Clusters: "+strings.Join(strangers, "; ")))
	}
	if leftOut := d.round.leftOut; len(leftOut) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionLedgerFull, quotav1alpha1.ReasonTooManyClusters, fmt.Sprintf(
			"The ledger has room for %d clusters, those that leave included, and none for: %s", MostChildren, Abbreviated(leftOut))))
	}
	if debt := d.debt(); debt != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionDebt, quotav1alpha1.ReasonGrantedAboveBudget, debt))
	}
	return conditions
}

// inState names the children in a state, each with its message.
func (d *Decision) inState(state quotav1alpha1.ClusterState) string {
	var names []string
	for _, v := range d.Verdicts {
		switch {
		case v.State != state:
		case v.Why.Message == "":
			names = append(names, v.Name)
		default:
			names = append(names, fmt.Sprintf("%s: %s", v.Name, v.Why.Message))
		}
	}
	return Abbreviated(names)
}

// foreign names the children in which the namespace has ResourceQuotas that no agent manages.
func (d *Decision) foreign() string {
	var names []string
	for _, c := range d.round.children {
		if c.reports(quotav1alpha1.ConditionForeignQuota) {
			names = append(names, fmt.Sprintf("%s: %s", c.Name, c.message(quotav1alpha1.ConditionForeignQuota)))
		}
	}
	return Abbreviated(names)
}

// debt says how much more is granted than the budget allows, and which children hold most above their target.
func (d *Decision) debt() string {
	var parts []string
	for _, name := range d.Ledger.Budget().Names() {
		debt, much := d.Ledger.Debt(name), "an unknown amount"
		if debt == 0 {
			continue
		}
		if debt != ledger.Unknown {
			much = d.quantity(name, debt)
		}
		part := fmt.Sprintf("%s of %s", much, name)
		if holders := d.holders(name); len(holders) > 0 {
			part += ", held by " + Abbreviated(holders)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "More is granted than the budget allows, so nobody is raised: " + strings.Join(parts, "; ")
}

// quantity returns an amount as people write it.
func (d *Decision) quantity(name corev1.ResourceName, value int64) string {
	q := amount.ToQuantity(name, value, d.round.in.Formats[name].Format)
	return q.String()
}

// holders names the children that hold more of name than their target, those with most first.
func (d *Decision) holders(name corev1.ResourceName) []string {
	type holder struct {
		text   string
		excess int64
	}
	var found []holder
	for _, v := range d.Verdicts {
		e, known := d.Ledger.Entry(v.Name)
		if excess := e.Granted[name] - e.Target[name]; known && excess > 0 {
			text := fmt.Sprintf("%s (%s)", v.Name, v.State)
			if e.Granted[name] != ledger.Unknown {
				text += " " + d.quantity(name, excess)
			}
			found = append(found, holder{text, excess})
		}
	}
	slices.SortStableFunc(found, func(a, b holder) int { return cmp.Compare(b.excess, a.excess) })
	names := make([]string, len(found))
	for i, h := range found {
		names[i] = h.text
	}
	return names
}
