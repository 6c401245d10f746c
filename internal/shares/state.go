package shares

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// stateOf sums up what is known of a child, and why it is not settled.
func (r *Round) stateOf(c *child, e ledger.Entry) (quotav1alpha1.ClusterState, Obstacle) {
	switch {
	case e.Revision == 0:
		return quotav1alpha1.ClusterUnread, c.whyUnread()
	case !c.read():
		return quotav1alpha1.ClusterUnreachable, Obstacle{Message: c.failure}
	case c.reported() >= 0:
		kind := ofReports[c.reported()]
		return kind.state, Obstacle{kind.reason, c.message(kind.condition)}
	case c.refuses() != (Obstacle{}):
		return quotav1alpha1.ClusterNotReady, c.refuses()
	case !c.takesOver && c.Selected && r.ledger.Settled(c.Name, c.report):
		return quotav1alpha1.ClusterSettled, Obstacle{}
	case c.agent == absent:
		return quotav1alpha1.ClusterNotReady, c.agentAbsent()
	case !c.Selected:
		return quotav1alpha1.ClusterLeaving, Obstacle{Message: heldBy(e)}
	case c.drains(e):
		return quotav1alpha1.ClusterDraining, Obstacle{Message: "more is used than its target of " + excess(e)}
	}
	return quotav1alpha1.ClusterSettling, Obstacle{Message: c.whyNotTaken()}
}

// ofReports are the states that agents report by a condition, the first of them if there are several: that charges are
// refused may be why the quota controller is stuck.
var ofReports = []struct {
	condition string
	state     quotav1alpha1.ClusterState
	reason    string
}{
	{quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ClusterBreakGlass, ""},
	{quotav1alpha1.ConditionChargesRefused, quotav1alpha1.ClusterNotReady, quotav1alpha1.ReasonChargeNotStored},
	{quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ClusterStuck, ""},
}

// reported returns which of these the agent reports, -1 if it is none.
func (c *child) reported() int {
	for i, kind := range ofReports {
		if c.reports(kind.condition) {
			return i
		}
	}
	return -1
}

// agentAbsent says what is known of an agent that does not act.
func (c *child) agentAbsent() Obstacle {
	why := "see whether fedquota-agent runs there"
	if c.Reading.Trouble != "" {
		why = c.Reading.Trouble
	}
	return Obstacle{quotav1alpha1.ReasonAgentAbsent, "its agent does not act on the share: " + why}
}

// whyUnread says why a child was not read yet.
func (c *child) whyUnread() Obstacle {
	if c.suspected {
		return Obstacle{quotav1alpha1.ReasonMayHoldShare, c.failure}
	}
	return Obstacle{Message: c.failure}
}

// drains says whether more is in use than the target. A child that drains goes on with that while it is told another
// target.
func (c *child) drains(e ledger.Entry) bool {
	drained := c.Entry != nil && c.Entry.State == quotav1alpha1.ClusterDraining
	return !c.takesOver && !e.Target.Covers(e.Granted) && (c.report.Revision == e.Revision || drained)
}

// heldBy names the resources that a child which leaves has not let go, if any.
func heldBy(e ledger.Entry) string {
	if names := excess(e); names != "" {
		return "it has not given back " + names
	}
	return ""
}

// excess names the resources of which more is granted than the target.
func excess(e ledger.Entry) string {
	var names []string
	for _, name := range e.Granted.Names() {
		if e.Granted[name] > e.Target[name] {
			names = append(names, string(name))
		}
	}
	return Abbreviated(names)
}

// refuses returns why a child cannot take or enforce its share; it is empty if the child can.
func (c *child) refuses() Obstacle {
	switch heldBack := c.Reading.HeldBack; {
	case c.misfit != "":
		return Obstacle{quotav1alpha1.ReasonForeignShare, c.misfit}
	case heldBack != (Obstacle{}), c.share == nil:
		return heldBack
	case c.reports(quotav1alpha1.ConditionUnguarded):
		return Obstacle{quotav1alpha1.ReasonPolicyNotInForce, c.message(quotav1alpha1.ConditionUnguarded)}
	}
	enforced := apimeta.FindStatusCondition(c.share.Conditions, quotav1alpha1.ConditionEnforced)
	switch {
	case enforced == nil, enforced.Status == metav1.ConditionTrue, c.takesOver && enforced.Reason == quotav1alpha1.ReasonNameTaken:
		return Obstacle{}
	case c.differs != "":
		return Obstacle{quotav1alpha1.ReasonNameTaken, c.differs}
	}
	if enforced.Reason == quotav1alpha1.ReasonUnknownResource || unwritable.Has(enforced.Reason) {
		return Obstacle{enforced.Reason, enforced.Message}
	}
	return Obstacle{}
}

// namesLimit is how many children a message names before it only counts them.
const namesLimit = 5

// Abbreviated joins sorted names, counting those after the first few.
func Abbreviated(names []string) string {
	if len(names) <= namesLimit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesLimit], ", "), len(names)-namesLimit)
}
