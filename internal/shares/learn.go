package shares

import (
	"slices"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// hear takes what the children say into the ledger.
func (r *Round) hear() {
	for _, c := range r.children {
		r.identify(c)
	}
	r.unseen = slices.DeleteFunc(slices.Clone(r.in.Expected), func(name string) bool {
		return r.byName[name] != nil && r.byName[name].read
	})
	r.rebuild()
	r.knowsWhom = (r.learned == kept || r.learned == unread && r.in.Fresh) && !slices.ContainsFunc(r.children, r.isStrange)
	for _, c := range r.children {
		r.join(c)
		r.learn(c)
	}
	if r.begins {
		r.ledger.Begin()
	}
	r.children = slices.DeleteFunc(r.children, func(c *child) bool {
		return !r.ledger.Has(c.Name) && !c.Selected
	})
}

// rebuild forgets what the ledger has read if a child was told something by another ledger: this one was restored from
// the past then. A ledger that has read no child, or is rebuilt, counts on above the markers, which tell of ledgers
// that were lost. One that was lost has nothing to forget, and gives no revision before it takes children in: until
// then its revision says that nobody knows what they hold.
func (r *Round) rebuild() {
	var highest int64
	for _, c := range r.children {
		highest = max(highest, r.elsewhere(c))
	}
	if highest > 0 || r.in.Restored && r.learned != lost {
		r.ledger.Rebuild(highest)
		r.learned = rebuilding
	}
	r.begins = r.learned != lost || !r.early()
	if r.learned == rebuilding || r.unread() && r.begins {
		r.ledger.Continue(r.marker)
	}
}

// elsewhere returns the highest revision that another ledger has told a child, 0 if none has. Names that came into the
// budget since may have given the entry a revision of this round.
func (r *Round) elsewhere(c *child) int64 {
	told := c.told()
	if told == nil {
		return 0
	}
	highest := max(told.Revision, told.InForce)
	ahead := c.Entry != nil && c.Entry.Revision > 0 && highest > c.Entry.Revision
	if r.ledger.RolledBack(c.Name, *told) || ahead {
		return highest
	}
	return 0
}

// join adds an entry for a child that is selected, or that holds a share of which the ledger does not know, or a limit
// in force without one. A child that cannot be read may hold one if there was a ledger before. A budget that is deleted
// gives nothing away any more, and waits for no such child.
func (r *Round) join(c *child) {
	switch {
	case r.early(), c.Destroyed:
	case c.Selected:
		r.take(c)
	case !c.empty:
		r.enter(c, true)
	case r.learned == lost && !c.read && !r.in.Removing:
		r.suspect(c)
	}
	c.cleared = c.suspected && !c.Selected && c.proven && c.empty
}

// isStrange says whether a child that this ledger has told nothing holds a share of the budget, or a limit without one.
// A ledger that has told nobody also goes by the last look at a child that is silent: no cluster that was given up, and
// that it knew, can have been looked at.
func (r *Round) isStrange(c *child) bool {
	return r.ledger.RevisionOf(c.Name) == 0 && !c.Destroyed && (!c.empty || r.unread() && c.Holds && !c.read)
}

// take adds an entry for a child that is selected. A ledger that was just rebuilt knows of nobody, and may be older
// than the marker, as one may be that was lost when the hub's store was put back.
func (r *Round) take(c *child) {
	switch {
	case r.halted:
	case r.learned == rebuilding, r.in.Restored, c.Marker > 0 && !r.knowsWhom:
		r.suspect(c)
	default:
		r.enter(c, false)
	}
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
		r.uncounted = r.uncounted || mayHoldShare || !c.empty
		return
	}
	r.ledger.Join(c.Name, mayHoldShare)
}

// learn takes what a child says into the ledger. One that was read may be taken in once that is founded on its API
// server, unless it is cleared of having a share.
func (r *Round) learn(c *child) {
	switch {
	case !c.read:
		if c.Reading.Vacant && r.untold(c) {
			r.ledger.Vacate(c.Name)
			c.suspected = false
		}
	case r.untold(c):
		if c.Live && r.learned != rebuilding && !r.early() && !c.cleared {
			r.ledger.Adopt(c.Name, c.told())
		}
	case c.homeless:
		r.ledger.Vacate(c.Name)
	default:
		r.hearReport(c)
	}
}

// hearReport takes the report of a child. Where a limit is not what the entry says, the child is asked to confirm it
// anew, but not too often: something there may change the limit each time.
func (r *Round) hearReport(c *child) {
	r.ledger.Hear(c.Name, c.report)
	broken := c.said[quotav1alpha1.ConditionBreakGlass].True
	if r.ledger.Disagrees(c.Name, c.report) && !broken && c.Past.ConfirmedFor == 0 {
		r.ledger.Confirm(c.Name)
		c.confirms = true
	}
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
	case nothing, c.proven && (c.released || c.homeless || c.cleared):
		return gone
	}
	return leaving
}
