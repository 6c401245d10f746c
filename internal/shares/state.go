package shares

import (
	"cmp"
	"strings"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Finding sums up what is known of a child.
type Finding struct {
	// State is that of its entry, and Why says in a word and a sentence why it is not settled.
	State quotav1alpha1.ClusterState
	Why   Obstacle
}

// stateOf sums up what is known of a child.
func (r *Round) stateOf(c *child, e ledger.Entry) Finding {
	switch {
	case e.Revision == 0:
		return Finding{quotav1alpha1.ClusterUnread, c.whyUnread()}
	case !c.read:
		return Finding{quotav1alpha1.ClusterUnreachable, Obstacle{Message: c.failure}}
	case c.reported() >= 0:
		kind := ofReports[c.reported()]
		return Finding{kind.state, Obstacle{kind.reason, c.said[kind.condition].Message}}
	case c.refuses() != (Obstacle{}):
		return Finding{quotav1alpha1.ClusterNotReady, c.refuses()}
	}
	return r.progressOf(c, e)
}

// progressOf says how far a child is that can take its share. One that drains goes on with that while it is told
// another target.
func (r *Round) progressOf(c *child, e ledger.Entry) Finding {
	drains := c.Entry != nil && c.Entry.State == quotav1alpha1.ClusterDraining
	switch {
	case !c.takesOver && c.Selected && r.ledger.Settled(c.Name, c.report):
		return Finding{State: quotav1alpha1.ClusterSettled}
	case c.agent == absent:
		return Finding{quotav1alpha1.ClusterNotReady, c.agentAbsent()}
	case !c.Selected:
		return Finding{quotav1alpha1.ClusterLeaving, Obstacle{Message: cmp.Or(c.keptBy(), heldBy(e))}}
	case !c.takesOver && !e.Target.Covers(e.Granted) && (drains || c.report.Revision == e.Revision):
		return Finding{quotav1alpha1.ClusterDraining, Obstacle{Message: "more is used than its target of " + excess(e)}}
	}
	return Finding{quotav1alpha1.ClusterSettling, Obstacle{Message: cmp.Or(c.keptBy(), c.whyNotTaken())}}
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
		if c.said[kind.condition].True {
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

// keptBy says what keeps a share that was deleted, if it is not the agent.
func (c *child) keptBy() string {
	if c.share == nil || len(c.share.KeptBy) == 0 {
		return ""
	}
	return "its share is deleted there, and kept by finalizers of others: " + strings.Join(c.share.KeptBy, ", ")
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
	switch unguarded := c.said[quotav1alpha1.ConditionUnguarded]; {
	case c.misfit != "":
		return Obstacle{quotav1alpha1.ReasonForeignShare, c.misfit}
	case c.Reading.HeldBack != (Obstacle{}), c.share == nil:
		return c.Reading.HeldBack
	case unguarded.True:
		return Obstacle{quotav1alpha1.ReasonPolicyNotInForce, unguarded.Message}
	}
	enforced, said := c.said[quotav1alpha1.ConditionEnforced]
	switch {
	case !said, enforced.True, c.takesOver && enforced.Reason == quotav1alpha1.ReasonNameTaken:
		return Obstacle{}
	case c.differs != "":
		return Obstacle{quotav1alpha1.ReasonNameTaken, c.differs}
	}
	if enforced.Reason == quotav1alpha1.ReasonUnknownResource || unwritable.Has(enforced.Reason) {
		return Obstacle{enforced.Reason, enforced.Message}
	}
	return Obstacle{}
}

// whyNotTaken says what a child waits for that takes over, or nothing if it does not.
func (c *child) whyNotTaken() string {
	switch {
	case !c.takesOver:
		return ""
	case c.takeOver != nil:
		return "its agent takes over the ResourceQuota that is there"
	}
	return "the ResourceQuota that is there is taken over once the budget has room for its limit"
}
