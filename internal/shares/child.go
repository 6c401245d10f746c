package shares

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// child is what a round knows of a child. New fills in uid, replaced and suspected, identify what follows from reading
// it.
type child struct {
	*Child

	// uid is that of the object which the entry was granted to, and replaced says whether another one has its name now.
	uid      string
	replaced bool
	// wasAbsent says whether the last round that was stored found that the agent does not act.
	wasAbsent bool
	// suspected says whether its entry was made since its object is marked, which another budget may have done: it could
	// not be asked whether it holds a share of this one.
	suspected bool

	// failure says why it could not be read, or is empty: then read says that it could be, and proven that what was read
	// is founded on its API server.
	failure      string
	read, proven bool
	// twin is the other child that the share there was written for, or empty.
	twin string
	// share is nil if there is none, and orphan if no limit is in force without one.
	share  *Share
	orphan *ledger.Share
	// said are the conditions that its agent reports, by type.
	said map[string]Condition
	// empty says that there is no share, and that no limit is in force without one; homeless that it has no share since it
	// could not take one where the namespace is missing; deleting that its share was deleted, and waits for the agent.
	empty, homeless, deleting bool
	// released says that it leaves, and has let its share go, as it was told. cleared says that it was suspected to hold a
	// share, has none, and shall have none.
	released, cleared bool
	// forged says that the share has a revision which no ledger gave. misfit says why the share cannot become that of this
	// budget, or is empty: nothing is written into one that has to go.
	forged bool
	misfit string
	// report, demand, shapes, expected and replacing are what the share says, empty if that says nothing of this budget.
	report                 ledger.Report
	demand                 amount.List
	shapes                 []round.Shape
	expected               amount.List
	replacing, unscheduled amount.List
	// takesOver says that its agent is to make a limit its own that it has from somebody else, and differs why it is not
	// to, if that would change the limit.
	takesOver bool
	differs   string
	// takeOver is what its agent may make its own now, or nil.
	takeOver *TakeOver
	// agent says whether the agent acts on the share.
	agent agent
	// unheard are the resources of which it can be expected to say for the first time what it uses.
	unheard []corev1.ResourceName

	// confirms says that it was given a new revision in this round just to confirm it.
	confirms bool
	// misinformed says that it is about to refuse somebody, and was told of other usage than there is, or of other
	// children that wait.
	misinformed bool
}

// agent says whether the agent of a child acts on its share.
type agent int

const (
	// acting: it has acted on the present share, or there is none.
	acting agent = iota
	// behind: it has yet to act.
	behind
	// slow: it has not acted for so long that other donors are asked in its place.
	slow
	// absent: it has not acted for so long that somebody has to look after it.
	absent
)

// newChild fills in which object the entry of a child was granted to, why there is one, and how it has to be read: what
// an entry is founded on, or ended by, does not come from a cache. While it is too early to take it in, no entry is.
func newChild(in *Child, early bool) *child {
	c := &child{Child: in, uid: in.UID}
	if e := in.Entry; e != nil {
		c.suspected = e.Revision == 0 && e.Reason == quotav1alpha1.ReasonMayHoldShare
		c.wasAbsent = e.Reason == quotav1alpha1.ReasonAgentAbsent
		c.replaced = in.UID != "" && e.ReplacedBy(in.UID)
		if in.UID == "" || c.replaced {
			c.uid = e.UID
		}
	}
	if in.Entry == nil {
		in.Live = !early
	} else {
		in.Live = c.replaced || in.Entry.Revision == 0 || !in.Selected
	}
	return c
}

// identify takes what reading the child gave. Of two children that lead to the same API server one has the share there,
// or each would take what the other writes for a ledger that was rolled back. An object that was deleted and created
// again for a child that runs finds the share there which was written for the old one: it takes over the entry.
func (r *Round) identify(c *child) {
	c.failure = c.Reading.Failure
	share := c.Reading.Share
	if share != nil {
		c.twin = r.twinOf(c, share)
	}
	switch {
	case share == nil && c.failure != "":
	case c.twin != "":
		c.failure = r.sameServer(c)
	case c.replaced && (share == nil || share.Owner != c.uid):
		c.failure = replaced
	case share != nil:
		r.believe(c, share)
	default:
		c.orphan = c.Reading.Orphan
	}
	c.look()
	c.unheard = r.unheardOf(c)
}

// look says what follows from what was read of a child.
func (c *child) look() {
	c.read = c.failure == ""
	c.proven = c.read && c.Live
	c.empty = c.share == nil && c.orphan == nil
	c.homeless = c.share == nil && c.Reading.HeldBack.LacksNamespace()
	c.released = !c.Selected && c.empty && c.Entry != nil && c.Entry.Removal != ""
	if c.share != nil {
		c.said, c.deleting = c.share.Said, c.share.Deleting
	}
	c.agent = c.agentState()
}

// replaced is why the entry of a child stays as it is while another object has its name.
const replaced = "another Cluster has its name now: what the old one was granted stays granted until " +
	"spec.removal.destroyed says that it is destroyed"

// takenOver is why the entry of a child stays as it is whose share is another hub's by now.
const takenOver = "another hub has taken this cluster over: its share was written for a Cluster that is not here. " +
	"Stop that hub manager, or give up this budget here. To have the cluster back, declare the ledger lost"

func (r *Round) twinOf(c *child, share *Share) string {
	if owner := r.names[share.Owner]; owner != c.Name {
		return owner
	}
	return ""
}

func (r *Round) sameServer(c *child) string {
	mend := "correct the kubeconfig Secret that is wrong"
	if !r.ledger.Holds(c.Name) {
		mend += ", or delete Cluster " + c.Name + ", which has no share"
	}
	return fmt.Sprintf(
		"Clusters %s and %s lead to the same API server: %s. If the share was copied there, delete QuotaShare %s",
		min(c.Name, c.twin), max(c.Name, c.twin), mend, r.in.Key)
}

// believe takes what the share says. A share is left alone that another hub has written since this ledger has, for a
// Cluster of its own: what it decides there is not known here, and two hubs that took it from each other would both
// count on what one has. One that counts something else says nothing of this budget, and one that somebody else has
// written a revision into says nothing that can be relied upon.
func (r *Round) believe(c *child, share *Share) {
	if c.replaced {
		c.uid, c.replaced = c.UID, false
	}
	e, elsewhere := c.Entry, share.Owner != "" && share.Owner != c.UID
	if elsewhere && e != nil && e.Revision > 0 && share.Owner != e.UID && share.Revision > e.Revision {
		c.failure = takenOver
		return
	}
	c.share = share
	revision := max(share.Revision, share.Report.Revision)
	switch {
	case share.OtherScope:
		c.misfit = fmt.Sprintf("its share has other scopes, which cannot be changed: delete QuotaShare %s there", r.in.Key)
	case r.Forged(revision):
		c.forged = true
		c.misfit = fmt.Sprintf("the hub has not written revision %d: delete QuotaShare %s there, "+
			"then its ResourceQuota behind broken glass", revision, r.in.Key)
	default:
		c.report, c.demand, c.shapes, c.expected = share.Report, share.Demand, share.Shapes, share.Expected
		c.replacing, c.unscheduled = share.Replacing, share.Unscheduled
	}
}

// agentState says whether the agent acts on the share. One that was absent in the last round is so until it acts: what
// a hub manager that was started again remembers of it begins anew.
func (c *child) agentState() agent {
	switch {
	case c.share == nil || !c.share.Behind || len(c.share.KeptBy) > 0:
		return acting
	case c.wasAbsent || c.Past.IdleFor > pace.AgentPatience:
		return absent
	case c.Past.IdleFor >= pace.DonorPatience:
		return slow
	}
	return behind
}

// unheardOf returns the resources of which a child can be expected to say for the first time what it uses: all of them
// if it joins, and those that came into the budget. Of a child that cannot be read that goes by what was stored, since
// another hub manager may just have told it of its share. One that was told nothing may stay silent for good.
func (r *Round) unheardOf(c *child) []corev1.ResourceName {
	silent := !c.read && (c.Entry == nil || c.Entry.Revision == 0)
	if r.halted || !c.Selected || silent || c.misfit != "" || c.Reading.HeldBack != (Obstacle{}) || c.wasAbsent {
		return nil
	}
	return slices.DeleteFunc(r.ledger.Budget().Names(), c.counts)
}

// counts says whether the child has said, as far as is known, what it uses of a resource.
func (c *child) counts(name corev1.ResourceName) bool {
	heard := c.report.Used
	switch {
	case !c.read:
		heard = c.Entry.Used
	case c.report.Revision == 0:
		return false
	}
	_, counted := heard[name]
	return counted
}

// told returns what its share says, or what is in force without one, or nil. A revision that no ledger gave says
// nothing.
func (c *child) told() *ledger.Share {
	switch {
	case c.share == nil:
		return c.orphan
	case c.forged:
		return &ledger.Share{}
	}
	return &ledger.Share{Revision: c.share.Revision, Hard: c.share.Hard, InForce: c.share.Report.Revision}
}

// mobility says how far a child can do as it is told.
type mobility int

const (
	// stuck: its limit can neither go up nor down.
	stuck mobility = iota
	// following: it is there, its agent can write, and nobody meddles with it; but something else holds it up.
	following
	// responsive: it can be lowered and raised now.
	responsive
)

// unwritable are the reasons for which an agent has seen the share and writes nothing.
var unwritable = sets.New(
	quotav1alpha1.ReasonNameTaken, quotav1alpha1.ReasonNamespaceTerminating, quotav1alpha1.ReasonWriteFailed,
)

// mobility says how far the child can do as it is told.
func (c *child) mobility() mobility {
	if !c.read || !c.Selected || c.deleting || c.report.Revision == 0 && !c.takesOver {
		return stuck
	}
	inTheWay := []string{
		quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ConditionUnguarded,
	}
	writable := c.takesOver || !unwritable.Has(c.said[quotav1alpha1.ConditionEnforced].Reason)
	switch {
	case !writable, slices.ContainsFunc(inTheWay, func(condition string) bool { return c.said[condition].True }):
		return stuck
	case c.Reading.HeldBack != (Obstacle{}), c.Past.StalledFor > 0, c.agent >= slow:
		return following
	}
	return responsive
}

// wants says whether it asks for more than its limit, as far as is known now. A child that leaves gets nothing.
func (c *child) wants() bool {
	if !c.Selected || !c.read {
		return false
	}
	for name, demand := range c.demand {
		if demand > 0 && amount.Add(c.report.Used[name], demand) > c.report.Hard[name] {
			return true
		}
	}
	return false
}
