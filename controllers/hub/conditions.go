package hub

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// namesLimit is how many clusters a message names before it only counts them.
const namesLimit = 5

// conditions returns all conditions of the round: Ready first, the others only while they are true.
func (s *scope) conditions() []metav1.Condition {
	abnormal := s.abnormal()
	ready := s.ready(len(abnormal) > 0)
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
func (s *scope) ready(abnormal bool) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: quotav1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	waiting := s.unsettled()
	switch {
	case s.removing():
		return no(quotav1alpha1.ReasonRemoving, "Waiting for clusters to confirm the removal: "+waiting)
	case len(s.problems) > 0:
		return no(quotav1alpha1.ReasonInvalidSpec, s.problems.ToAggregate().Error())
	case s.conflict != "":
		return no(quotav1alpha1.ReasonConflict, s.conflict)
	case !s.selectsAny():
		return no(quotav1alpha1.ReasonNoClusters, "The placement selects no Cluster: label a Cluster so that spec.placement.clusterSelector matches it, or name one in spec.placement.clusters")
	case abnormal && waiting != "":
		return no(quotav1alpha1.ReasonDegraded, "Held back by clusters: "+waiting)
	case abnormal:
		return no(quotav1alpha1.ReasonDegraded, "See the other conditions")
	case waiting != "":
		return no(quotav1alpha1.ReasonSettling, "Waiting for clusters: "+waiting)
	}
	return metav1.Condition{Type: quotav1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: quotav1alpha1.ReasonSettled, Message: "Every cluster enforces its target"}
}

func (s *scope) selectsAny() bool {
	for _, m := range s.members {
		if m.selected {
			return true
		}
	}
	return false
}

// unsettled names the clusters that are not settled, each with its state, and those without an entry that nothing is decided before.
func (s *scope) unsettled() string {
	var names []string
	for _, c := range s.fq.Status.Clusters {
		if c.State != quotav1alpha1.ClusterSettled {
			names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.State))
		}
	}
	for _, name := range s.unseen {
		if _, known := s.ledger.Entry(name); !known {
			names = append(names, name+" (not heard yet)")
		}
	}
	return abbreviated(names)
}

// ofStates are the conditions that are there while clusters are in a state.
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
func (s *scope) abnormal() []metav1.Condition {
	var conditions []metav1.Condition
	for _, kind := range ofStates {
		if who := s.inState(kind.state); who != "" {
			conditions = append(conditions, yes(kind.condition, kind.reason, who))
		}
	}
	if who := s.foreign(); who != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ReasonReported, who))
	}
	if len(s.strangers) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ReasonNotFound,
			"No such Cluster in the namespace of the Clusters: "+strings.Join(s.strangers, "; ")))
	}
	if len(s.leftOut) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionLedgerFull, quotav1alpha1.ReasonTooManyClusters, fmt.Sprintf(
			"The ledger has room for %d clusters, those that leave included, and none for: %s", mostEntries, abbreviated(s.leftOut))))
	}
	if debt := s.debt(); debt != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionDebt, quotav1alpha1.ReasonGrantedAboveBudget, debt))
	}
	return conditions
}

// inState names the clusters in a state, each with its message.
func (s *scope) inState(state quotav1alpha1.ClusterState) string {
	var who []string
	for _, c := range s.fq.Status.Clusters {
		switch {
		case c.State != state:
		case c.Message == "":
			who = append(who, string(c.Name))
		default:
			who = append(who, fmt.Sprintf("%s: %s", c.Name, c.Message))
		}
	}
	return abbreviated(who)
}

// affected returns whom a condition of a status concerns: names of clusters, or the message where that only lists them. It is empty for
// conditions that are of the whole.
func affected(status *quotav1alpha1.FederatedQuotaStatus, c metav1.Condition) sets.Set[string] {
	who := sets.New[string]()
	switch c.Type {
	case quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ConditionLedgerFull:
		who.Insert(c.Message)
	case quotav1alpha1.ConditionDebt:
		for name, granted := range status.Granted {
			if granted.Cmp(status.Hard[name]) <= 0 {
				continue
			}
			for _, h := range holders(status, name) {
				who.Insert(string(h.cluster.Name))
			}
		}
	}
	for _, kind := range ofStates {
		for i := range status.Clusters {
			if kind.condition == c.Type && kind.state == status.Clusters[i].State {
				who.Insert(string(status.Clusters[i].Name))
			}
		}
	}
	return who
}

// foreign names the clusters in which the namespace has ResourceQuotas that no agent manages.
func (s *scope) foreign() string {
	var who []string
	for _, m := range s.members {
		if m.reports(quotav1alpha1.ConditionForeignQuota) {
			who = append(who, fmt.Sprintf("%s: %s", m.name, m.message(quotav1alpha1.ConditionForeignQuota)))
		}
	}
	return abbreviated(who)
}

// debt says how much more is granted than the budget allows, and who holds most above its target.
func (s *scope) debt() string {
	var parts []string
	budget, formats := s.ledger.Budget(), like(s.fq)
	say := func(name corev1.ResourceName, value int64) string {
		q := amount.ToQuantity(name, value, formats[name].Format)
		return q.String()
	}
	for _, name := range budget.Names() {
		debt, much := s.ledger.Debt(name), "an unknown amount"
		if debt == 0 {
			continue
		}
		if debt != ledger.Unknown {
			much = say(name, debt)
		}
		var who []string
		for _, h := range holders(&s.fq.Status, name) {
			text := fmt.Sprintf("%s (%s)", h.cluster.Name, h.cluster.State)
			if h.excess != ledger.Unknown {
				text += " " + say(name, h.excess)
			}
			who = append(who, text)
		}
		part := fmt.Sprintf("%s of %s", much, name)
		if len(who) > 0 {
			part += ", held by " + abbreviated(who)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "More is granted than the budget allows, so nobody is raised: " + strings.Join(parts, "; ")
}

// holder is a cluster that was granted more than its target, Unknown if it may hold any amount.
type holder struct {
	cluster *quotav1alpha1.ClusterStatus
	excess  int64
}

// holders returns the clusters that hold more of name than their target, those with most first.
func holders(status *quotav1alpha1.FederatedQuotaStatus, name corev1.ResourceName) []holder {
	var found []holder
	in := func(list corev1.ResourceList) int64 {
		return amount.Saturate(corev1.ResourceList{name: list[name]}, amount.Up)[name]
	}
	for i := range status.Clusters {
		h := holder{cluster: &status.Clusters[i]}
		if h.cluster.Target == nil {
			continue // it holds just that
		}
		if h.excess = in(h.cluster.Granted); h.excess != ledger.Unknown {
			h.excess -= in(h.cluster.Target)
		}
		if h.excess > 0 {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b holder) int { return cmp.Compare(b.excess, a.excess) })
	return found
}

// abbreviated joins sorted names, counting those after the first few.
func abbreviated(names []string) string {
	if len(names) <= namesLimit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesLimit], ", "), len(names)-namesLimit)
}
