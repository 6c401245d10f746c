package shares

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// summary is a decision, with the round that has taken it, in words.
type summary struct {
	*Round

	d *Decision
}

// conditions returns all conditions of the round: Ready first, the others only while they are true.
func (r *Round) conditions(d *Decision) []Condition {
	s := summary{r, d}
	notes := s.notes()
	ready := s.ready(slices.ContainsFunc(notes, func(c Condition) bool { return !Harmless(c.Type) }))
	conditions := []Condition{ready}
	switch ready.Reason {
	case quotav1alpha1.ReasonInvalidSpec, quotav1alpha1.ReasonConflict:
		conditions = append(conditions, yes(quotav1alpha1.ConditionStalled, ready.Reason, ready.Message))
	case quotav1alpha1.ReasonSettling, quotav1alpha1.ReasonDegraded,
		quotav1alpha1.ReasonRemoving, quotav1alpha1.ReasonNoClusters,
		quotav1alpha1.ReasonPoolPending, quotav1alpha1.ReasonPoolNotFollowed:
		conditions = append(conditions, yes(quotav1alpha1.ConditionReconciling, ready.Reason, ready.Message))
	}
	return append(conditions, notes...)
}

// harmless are the conditions that may be true while Ready is: the budget is kept.
var harmless = sets.New(
	quotav1alpha1.ConditionDraining, quotav1alpha1.ConditionKindNotServed, quotav1alpha1.ConditionForeignQuota,
	quotav1alpha1.ConditionNameNotCounted, quotav1alpha1.ConditionScaleOutHeldBack,
)

// Harmless says whether a condition may be true while Ready is.
func Harmless(condition string) bool { return harmless.Has(condition) }

func yes(condition, reason, message string) Condition {
	return Condition{Type: condition, True: true, Reason: reason, Message: message}
}

// ready returns the summary: whether the budget is kept and every child enforces a share of this spec. That a limit
// moves, or that usage drains, is no reason not to be ready.
func (s *summary) ready(degraded bool) Condition {
	no := func(reason, message string) Condition {
		return Condition{Type: quotav1alpha1.ConditionReady, Reason: reason, Message: message}
	}
	awaited := s.awaited()
	switch {
	case s.in.Removing:
		return no(quotav1alpha1.ReasonRemoving, "Waiting for clusters to confirm the removal: "+awaited)
	case s.halted:
		return no(s.in.Halted.Reason, s.in.Halted.Message)
	case s.in.Lagging != "":
		return no(quotav1alpha1.ReasonPoolNotFollowed, s.in.Lagging)
	case !s.selects:
		return no(quotav1alpha1.ReasonNoClusters, "The placement selects no Cluster yet. One that comes and "+
			"matches gets its part. To select one that is here, label it so that spec.placement.clusterSelector matches it, "+
			"or name it in spec.placement.clusters")
	case degraded && awaited != "":
		return no(quotav1alpha1.ReasonDegraded, "Held back by clusters: "+awaited)
	case degraded:
		return no(quotav1alpha1.ReasonDegraded, "See the other conditions")
	case awaited != "":
		return no(quotav1alpha1.ReasonSettling, "Waiting for clusters: "+awaited)
	}
	return yes(quotav1alpha1.ConditionReady, quotav1alpha1.ReasonEnforced, "Every cluster enforces a share of this spec")
}

// awaited names the children that are waited for, each with its state, and those without an entry that nothing is
// decided before.
func (s *summary) awaited() string {
	var names []string
	for i, v := range s.d.Verdicts {
		if v.State != "" && !s.enforces(s.children[i], v.State) && !s.withoutPart(&v) {
			names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.State))
		}
	}
	for _, name := range s.unseen {
		if !s.ledger.Has(name) {
			names = append(names, name+" (not heard yet)")
		}
	}
	return Abbreviated(names)
}

// enforces says whether a child enforces a share of this spec, or is none that has to.
func (s *summary) enforces(c *child, state quotav1alpha1.ClusterState) bool {
	switch state {
	case quotav1alpha1.ClusterSettled:
		return true
	case quotav1alpha1.ClusterLeaving:
		return !s.in.Removing
	case quotav1alpha1.ClusterSettling, quotav1alpha1.ClusterDraining:
		e, _ := s.entry(c)
		return c.Selected && !e.Unknown() && s.ofThisSpec(c, e)
	}
	return false
}

// ofThisSpec says whether what a child has in force was decided on this spec. Once all children had such a share, each
// goes on having one while its limit moves. A first share is zero, until all have said what they use: it does not
// count.
func (s *summary) ofThisSpec(c *child, e ledger.Entry) bool {
	inForce := c.report.Revision
	if inForce == 0 || c.report.Hard.IsZero() && !e.Target.IsZero() {
		return false
	}
	return s.in.Ready || inForce == e.Revision || s.d.SpecRevision > 0 && inForce >= s.d.SpecRevision
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

// ConditionOf returns the condition that is there while a child is in a state, or "".
func ConditionOf(state quotav1alpha1.ClusterState) string {
	for _, kind := range ofStates {
		if kind.state == state {
			return kind.condition
		}
	}
	return ""
}

// notes returns the conditions that are there only while they are true.
func (s *summary) notes() []Condition {
	var conditions []Condition
	for _, kind := range ofStates {
		if names := s.inState(kind.state); names != "" {
			conditions = append(conditions, yes(kind.condition, kind.reason, names))
		}
	}
	if names := s.reporting((*child).whyForeign); names != "" {
		conditions = append(conditions, yes(
			quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ReasonReported, names+". "+nativequota.ForeignRisk))
	}
	if names := s.reporting((*child).notServed); names != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionKindNotServed, quotav1alpha1.ReasonReported, names))
	}
	if len(s.in.OutOfScope) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionNameNotCounted, quotav1alpha1.ReasonOutOfScope,
			"The pool limits resources of which the scopes count nothing, so nothing limits them here: "+
				Abbreviated(s.in.OutOfScope)))
	}
	if len(s.in.Strangers) > 0 {
		conditions = append(conditions, yes(quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ReasonNotFound,
			"No such Cluster in the namespace of the Clusters: "+strings.Join(s.in.Strangers, "; ")))
	}
	if len(s.leftOut) > 0 {
		message := fmt.Sprintf("The ledger has room for %d clusters, those that leave included, and none for: %s",
			MostChildren, Abbreviated(s.leftOut))
		conditions = append(conditions,
			yes(quotav1alpha1.ConditionLedgerFull, quotav1alpha1.ReasonTooManyClusters, message))
	}
	if debt := s.debt(); debt != "" {
		conditions = append(conditions, yes(quotav1alpha1.ConditionDebt, quotav1alpha1.ReasonGrantedAboveBudget, debt))
	}
	return conditions
}

// whyForeign says which ResourceQuotas there are in its namespace that no agent manages, if any. What they mean to the
// budget is said once for all children.
func (c *child) whyForeign() string {
	foreign := c.said[quotav1alpha1.ConditionForeignQuota]
	if !foreign.True {
		return ""
	}
	return strings.TrimSuffix(foreign.Message, ". "+nativequota.ForeignRisk)
}

// notServed says under which names it counts nothing, since it does not serve the kinds, if any.
func (c *child) notServed() string {
	enforced := c.said[quotav1alpha1.ConditionEnforced]
	if enforced.Reason != quotav1alpha1.ReasonKindNotServed {
		return ""
	}
	return enforced.Message
}

// inState names the children in a state, each with its message. A child that was read is taken in by the next round:
// that it is unread is not worth a condition, unless the ledger was lost or is rebuilt.
func (s *summary) inState(state quotav1alpha1.ClusterState) string {
	var names []string
	for i, v := range s.d.Verdicts {
		adopted := state == quotav1alpha1.ClusterUnread && s.children[i].read && s.learned != lost && s.learned != rebuilding
		switch {
		case v.State != state || adopted || s.withoutPart(&v):
		case v.Why.Message == "":
			names = append(names, v.Name)
		default:
			names = append(names, fmt.Sprintf("%s: %s", v.Name, v.Why.Message))
		}
	}
	return Abbreviated(names)
}

// reporting names the children of which there is something to say, each with that.
func (s *summary) reporting(say func(c *child) string) string {
	var names []string
	for _, c := range s.children {
		if text := say(c); text != "" {
			names = append(names, fmt.Sprintf("%s: %s", c.Name, text))
		}
	}
	return Abbreviated(names)
}

// debt says how much more is granted than the budget allows, and which children hold most above their target. Where a
// child may hold any amount no debt is known: the condition Rebuilding names that child. What children that only settle
// give back is no debt: they use less than their new limit, and have just not confirmed it.
func (s *summary) debt() string {
	var parts []string
	for _, name := range s.ledger.Budget().Names() {
		debt := s.ledger.Debt(name)
		if debt == ledger.Unknown || debt <= s.comingBack(name) {
			continue
		}
		part := fmt.Sprintf("%s of %s", amount.Text(name, debt, s.in.Formats), name)
		if holders := s.holders(name); len(holders) > 0 {
			part += ", held by " + Abbreviated(holders)
		}
		part += s.inherent(name)
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "More is granted than the budget allows, so nobody is raised: " + strings.Join(parts, "; ")
}

// inherent says that the budget is too small for what each child has of name by itself, if it is.
func (s *summary) inherent(name corev1.ResourceName) string {
	object, clusters := nativequota.Inherent(name), int64(s.d.Totals.Selected)
	if object == "" || s.ledger.Budget()[name] >= clusters {
		return ""
	}
	return fmt.Sprintf(" (each of the %d clusters needs one, since the namespace has one there by itself, %s: "+
		"raise the budget)", clusters, object)
}

// comingBack is how much of name the children that settle hold above their target.
func (s *summary) comingBack(name corev1.ResourceName) int64 {
	var sum int64
	for _, v := range s.d.Verdicts {
		if v.State == quotav1alpha1.ClusterSettling {
			e, _ := s.ledger.Entry(v.Name)
			sum += max(0, e.Granted[name]-e.Target[name])
		}
	}
	return sum
}

// holders names the children that hold more of name than their target, those with most first.
func (s *summary) holders(name corev1.ResourceName) []string {
	type holder struct {
		text   string
		excess int64
	}
	var found []holder
	for _, v := range s.d.Verdicts {
		e, known := s.ledger.Entry(v.Name)
		if excess := e.Granted[name] - e.Target[name]; known && excess > 0 {
			text := fmt.Sprintf("%s (%s) %s", v.Name, v.State, amount.Text(name, excess, s.in.Formats))
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
