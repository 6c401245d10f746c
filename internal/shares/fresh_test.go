package shares

import (
	"testing"

	"github.com/fedquota/fedquota/internal/ledger"
)

// TestSilentChildOfANewBudget has a child be silent that is marked: it counts with nothing in a budget that nobody was
// told of yet, unless something shows that somebody was.
func TestSilentChildOfANewBudget(t *testing.T) {
	silent := Child{Name: "gone", Selected: true, Marker: 7, Reading: Reading{Failure: "away"}}
	answers := Child{Name: "here", Selected: true, Marker: 7}
	with := func(c Child, change func(c *Child)) Child {
		change(&c)
		return c
	}
	holds := func(c *Child) { c.Reading.Share = share(9, 5, 0) }
	for name, tc := range map[string]struct {
		fresh    bool
		revision int64
		children []Child
		want     int64
	}{
		"new":                       {fresh: true, revision: ledger.First, children: []Child{answers}},
		"new, and nobody answers":   {fresh: true, revision: ledger.First},
		"new, with revisions given": {fresh: true, revision: 9, children: []Child{answers}},
		"it may have been restored": {revision: ledger.First, children: []Child{answers}, want: ledger.Unknown},
		"the ledger was lost":       {fresh: true, children: []Child{answers}, want: ledger.Unknown},
		"another one has a share": {
			fresh: true, revision: ledger.First, children: []Child{with(answers, holds)}, want: ledger.Unknown,
		},
		"another one has a share, and is not selected": {
			fresh: true, revision: ledger.First, want: ledger.Unknown,
			children: []Child{answers, with(answers, func(c *Child) { c.Name, c.Selected = "other", false; holds(c) })},
		},
		"another one has a limit without a share": {
			fresh: true, revision: ledger.First, want: ledger.Unknown,
			children: []Child{with(answers, func(c *Child) { c.Reading.Orphan = &ledger.Share{InForce: 9} })},
		},
		"another one had a share, and is silent, too": {
			fresh: true, revision: ledger.First, want: ledger.Unknown,
			children: []Child{answers, with(silent, func(c *Child) { c.Name, c.Holds = "other", true })},
		},
		"another one that is declared destroyed has a share": {
			fresh: true, revision: ledger.First,
			children: []Child{answers, with(answers, func(c *Child) { c.Name, c.Destroyed, c.Selected = "other", true, false; holds(c) })},
		},
		"somebody was told": {
			revision: 9, children: []Child{with(answers, func(c *Child) { c.Entry = entry(9, 5, 5); holds(c) })},
		},
		"somebody was told, and another one has a share": {
			revision: 9, want: ledger.Unknown, children: []Child{
				with(answers, func(c *Child) { c.Entry = entry(9, 5, 5); holds(c) }),
				with(answers, func(c *Child) { c.Name = "other"; holds(c) }),
			},
		},
		"it counted with nothing before": {
			fresh: true, revision: ledger.First, want: ledger.Unknown,
			children: []Child{with(silent, func(c *Child) { c.Entry = entry(0, 0, 0) }), with(answers, holds)},
		},
		"the hub manager starts again": {
			revision: ledger.First, want: ledger.Unknown,
			children: []Child{with(silent, func(c *Child) { c.Entry = entry(0, 0, 0) }), answers},
		},
	} {
		t.Run(name, func(t *testing.T) {
			children := tc.children
			if len(children) == 0 || children[0].Name != silent.Name {
				children = append([]Child{silent}, children...)
			}
			in := inputOf(children...)
			in.Fresh, in.Revision = tc.fresh, tc.revision
			d := New(in).Decide()
			e, known := d.Ledger.Entry(silent.Name)
			if !known || e.Revision != 0 || e.Granted["pods"] != tc.want {
				t.Errorf("the silent one has %+v, want %d granted", e, tc.want)
			}
		})
	}
}

// TestAnsweringChildOfANewBudget has a child answer that has no share, and take none: it holds what its API server
// shows, which is nothing.
func TestAnsweringChildOfANewBudget(t *testing.T) {
	in := inputOf(Child{Name: "refuses", Selected: true, Marker: 7, Reading: Reading{HeldBack: Obstacle{Reason: "Refused", Message: "no"}}})
	in.Fresh, in.Revision = true, ledger.First
	d, v := verdictOf(in, "refuses")
	if e, _ := d.Ledger.Entry("refuses"); e.Revision == 0 || e.Granted["pods"] != 0 || v.Order != OrderCreate {
		t.Errorf("it has %+v, and is to %s", e, v.Order)
	}
}

// TestWhoIsReadLive reads the children of a budget that is halted live once they are taken in, and not before.
func TestWhoIsReadLive(t *testing.T) {
	halted := Obstacle{Reason: "PoolPending", Message: "waits"}
	for name, tc := range map[string]struct {
		halted Obstacle
		entry  *Entry
		want   bool
	}{
		"halted, and not taken in": {halted: halted},
		"about to be taken in":     {want: true},
		"halted, and never read":   {halted: halted, entry: entry(0, 0, 0), want: true},
		"halted, and read before":  {halted: halted, entry: entry(9, 5, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(Child{Name: "east", Selected: true, Marker: 7, Entry: tc.entry})
			in.Halted, in.Fresh, in.Revision = tc.halted, true, ledger.First
			if got := New(in).Children()[0].Live; got != tc.want {
				t.Errorf("it is read live: %t", got)
			}
		})
	}
}
