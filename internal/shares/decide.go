package shares

import (
	"slices"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// Decide takes what the children say into the ledger, and takes the decisions of the round: it charges all that was
// learned first, and steers last.
func (r *Round) Decide() *Decision {
	r.hear()
	if !r.in.halted() {
		r.steer()
	}
	return r.decision()
}

// hear takes what the children say into the ledger.
func (r *Round) hear() {
	for _, c := range r.children {
		r.identify(c)
	}
	r.unseen = slices.DeleteFunc(slices.Clone(r.in.Expected), func(name string) bool {
		return r.byName[name] != nil && r.byName[name].read()
	})
	r.rebuild()
	r.strange = slices.ContainsFunc(r.children, r.isStrange)
	for _, c := range r.children {
		r.join(c)
		r.learn(c)
	}
	if r.begins() {
		r.ledger.Begin()
	}
	r.children = slices.DeleteFunc(r.children, func(c *child) bool {
		return !r.ledger.Has(c.Name) && !c.Selected
	})
}

// steer ends the entries of children that are gone, and moves limits. A budget that is deleted leaves them as they are.
func (r *Round) steer() {
	for _, c := range r.children {
		if r.tenureOf(c) == gone {
			r.ledger.Gone(c.Name)
		}
	}
	if r.in.Removing {
		return
	}
	r.takeOver()
	r.steered = round.Steer(r.ledger, r.steering(r.children))
	if len(r.unseen) == 0 {
		r.allow()
	}
}

// rebuild forgets what the ledger has read if a child was told something by another ledger: this one was restored from
// the past then. A ledger that has read no child, or is rebuilt, counts on above the markers, which tell of ledgers
// that were lost.
func (r *Round) rebuild() {
	var highest int64
	for _, c := range r.children {
		if told := c.told(); told != nil && (r.ledger.RolledBack(c.Name, *told) || c.isAhead(*told)) {
			highest = max(highest, told.Revision, told.InForce)
		}
	}
	if highest > 0 || r.in.Restored {
		r.ledger.Rebuild(highest)
		r.learned = rebuilding
	}
	if r.learned == rebuilding || r.unread() && r.begins() {
		r.ledger.Continue(r.marker)
	}
}

// isAhead says whether a share is newer than the entry as it was stored: names that came into the budget since have
// given the entry a revision of this round.
func (c *child) isAhead(told ledger.Share) bool {
	return c.Entry != nil && c.Entry.Revision > 0 && max(told.Revision, told.InForce) > c.Entry.Revision
}

// join adds an entry for a child that is selected, or that holds a share of which the ledger does not know, or a limit
// in force without one. A child that cannot be read may hold one if there was a ledger before. A budget that is deleted
// gives nothing away any more, and waits for no such child.
func (r *Round) join(c *child) {
	switch {
	case r.early(), c.Destroyed:
	case c.Selected:
		r.take(c)
	case !c.holdsNothing():
		r.enter(c, true)
	case r.learned == lost && !c.read() && !r.in.Removing:
		r.suspect(c)
	}
}

// isStrange says whether a child that this ledger has told nothing holds a share of the budget, or a limit without one.
// A ledger that has told nobody also goes by the last look at a child that is silent: no cluster that was given up, and
// that it knew, can have been looked at.
func (r *Round) isStrange(c *child) bool {
	return r.ledger.RevisionOf(c.Name) == 0 && !c.Destroyed && (!c.holdsNothing() || r.unread() && c.Holds && !c.read())
}

// take adds an entry for a child that is selected. A ledger that was just rebuilt knows of nobody, and may be older than
// the marker.
func (r *Round) take(c *child) {
	switch {
	case r.in.halted():
	case r.learned == rebuilding, c.Marker > 0 && !r.knowsWhom():
		r.suspect(c)
	default:
		r.enter(c, false)
	}
}

// knowsWhom says whether the ledger knows whom it has told, so that the marker of anybody else is of another budget: as
// long as an entry was ever read, or the budget is new, and no child shows a share that another ledger has given.
func (r *Round) knowsWhom() bool {
	return !r.strange && (r.learned == kept || r.learned == unread && r.in.Fresh)
}

// suspect adds an entry for a child of which nothing is known but the marker, until it is asked whether it holds a
// share. One that counted with nothing so far, and was told nothing, is suspected from now on.
func (r *Round) suspect(c *child) {
	if r.ledger.RevisionOf(c.Name) == 0 && !r.ledger.Holds(c.Name) {
		c.suspected = true
		r.enter(c, true)
	}
}

// enter adds an entry if the ledger has room for one. A child that is left out gets nothing. While one is left out that
// may hold a share, no child is raised.
func (r *Round) enter(c *child, mayHoldShare bool) {
	if !r.ledger.Has(c.Name) && r.ledger.Len() >= MostChildren {
		r.leftOut = append(r.leftOut, c.Name)
		r.uncounted = r.uncounted || mayHoldShare || !c.holdsNothing()
		return
	}
	r.ledger.Join(c.Name, mayHoldShare)
}

// learn takes what a child says into the ledger.
func (r *Round) learn(c *child) {
	switch {
	case !c.read():
		if c.Reading.Vacant && r.untold(c) {
			r.ledger.Vacate(c.Name)
			c.suspected = false
		}
	case r.untold(c):
		if r.adoptable(c) {
			r.ledger.Adopt(c.Name, c.told())
		}
	case c.lacksNamespace():
		r.ledger.Vacate(c.Name)
	default:
		r.settle(c)
	}
}

// settle takes the report of a child. Where a limit is not what the entry says, the child is asked to confirm it anew,
// but not too often: something there may change the limit each time.
func (r *Round) settle(c *child) {
	r.ledger.Settle(c.Name, c.report)
	if r.ledger.Disagrees(c.Name, c.report) && !c.reports(quotav1alpha1.ConditionBreakGlass) && c.Past.ConfirmedFor == 0 {
		r.ledger.Confirm(c.Name)
		c.confirms = true
	}
}

// adoptable says whether a child that was read may be taken in now.
func (r *Round) adoptable(c *child) bool {
	return c.Live && r.learned != rebuilding && !r.early() && !c.cleared()
}

// cleared says whether a child was read that was suspected to hold a share, has none, and shall have none.
func (c *child) cleared() bool {
	return c.suspected && !c.Selected && c.readLive() && c.holdsNothing()
}

// tenure says how a child stands to the budget.
type tenure int

const (
	// joining: it is selected, and was never read.
	joining tenure = iota
	// staying: it is selected, and was read.
	staying
	// leaving: it is not selected, and gives back what it was granted as its usage falls.
	leaving
	// gone: it was given up, was never told anything, or has let go of its share, so that its entry may go.
	gone
)

// tenureOf says how a child that has an entry stands to the budget.
func (r *Round) tenureOf(c *child) tenure {
	nothing := !r.ledger.Holds(c.Name) && (r.untold(c) || c.twin != "")
	switch {
	case c.Destroyed:
		return gone
	case c.Selected && r.ledger.RevisionOf(c.Name) == 0:
		return joining
	case c.Selected:
		return staying
	case nothing, c.readLive() && c.letGo():
		return gone
	}
	return leaving
}

// letGo says whether a child that was read, and is not selected, holds nothing any more.
func (c *child) letGo() bool { return c.released() || c.lacksNamespace() || c.cleared() }

// released says whether a child that leaves has let its share go, as it was told.
func (c *child) released() bool {
	return !c.Selected && c.holdsNothing() && c.Entry != nil && c.Entry.Removal != ""
}
