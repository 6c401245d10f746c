package shares

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestGoneNeverRead gives up an entry that a child got and never was told of, and no other that cannot be read.
func TestGoneNeverRead(t *testing.T) {
	for name, tc := range map[string]struct {
		child Child
		want  bool
	}{
		"never read":             {child: Child{Entry: entry(0, 0, 0)}, want: true},
		"never read, selected":   {child: Child{Entry: entry(0, 0, 0), Selected: true}},
		"never read, marked":     {child: Child{Entry: entry(0, 0, 0), Marker: 1}, want: true},
		"may hold the budget":    {child: Child{Entry: entry(0, 0, 10)}},
		"told nothing, but told": {child: Child{Entry: entry(3, 0, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.child.Name, tc.child.Reading = "a", Reading{Failure: "there is no connection"}
			other := Child{Name: "b", Selected: true, Entry: entry(2, 0, 0), Reading: Reading{Failure: "away"}}
			d, _ := verdictOf(inputOf(tc.child, other), "a")
			if _, known := d.Ledger.Entry("a"); known == tc.want {
				t.Errorf("there is an entry: %t", known)
			}
		})
	}
}

// TestGoneAsItWasTold has a child leave that holds nothing any more: its entry goes if its share was told what shall
// become of the ResourceQuota. One that is missing otherwise may come back by a write that is late.
func TestGoneAsItWasTold(t *testing.T) {
	for removal, gone := range map[quotav1alpha1.RemovalPolicy]bool{"": false, quotav1alpha1.RemovalRetain: true} {
		leaving := Child{Name: "a", Entry: entry(3, 0, 5), Live: true}
		leaving.Entry.Removal = removal
		other := Child{Name: "b", Selected: true, Entry: entry(2, 5, 5), Reading: Reading{Share: share(2, 5, 0)}}
		d, _ := verdictOf(inputOf(leaving, other), "a")
		if d.Ledger.Has("a") == gone {
			t.Errorf("told %q: gone is %t", removal, !gone)
		}
	}
}

// TestFullLedger selects a child that the ledger has no room for. The child that has an entry is raised unless the
// other one may hold a share.
func TestFullLedger(t *testing.T) {
	for name, tc := range map[string]struct {
		reading Reading
		raised  bool
	}{
		"of a child that holds none":       {raised: true},
		"of a child that may hold a share": {reading: Reading{Share: &Share{}}},
	} {
		t.Run(name, func(t *testing.T) {
			children := []Child{
				{Name: "a", Selected: true, Entry: entry(1, 0, 0), Reading: Reading{Share: share(1, 0, 0)}},
				{Name: "z", Selected: true, Reading: tc.reading, Past: waitedFor("pods")},
			}
			for i := range MostChildren - 1 {
				children = append(children, Child{
					Name: fmt.Sprintf("leaving-%d", i), Entry: entry(1, 0, 0), Reading: Reading{Failure: "there is no connection"},
				})
			}
			in := inputOf(children...)
			in.Split.Static = true
			d := New(in).Decide()
			if n := d.Ledger.Len(); n != MostChildren {
				t.Errorf("the ledger has %d entries", n)
			}
			if raised := d.Ledger.Granted("pods") > 0; raised != tc.raised {
				t.Errorf("raised: %v, want %v", raised, tc.raised)
			}
			var message string
			for _, c := range d.Conditions {
				if c.Type == quotav1alpha1.ConditionLedgerFull {
					message = c.Message
				}
			}
			if want := "The ledger has room for 2000 clusters, those that leave included, and none for: z"; message != want {
				t.Errorf("got %q, want %q", message, want)
			}
			if _, about := d.Next(1); about != pace.RoundRetryInterval(len(d.Verdicts), 1) {
				t.Errorf("looks again after %s", about)
			}
		})
	}
}

// waitedFor is the past of a child that raises of a resource have waited for in vain.
func waitedFor(name corev1.ResourceName) Past {
	return Past{UnheardFor: map[corev1.ResourceName]time.Duration{name: pace.FirstReportWait}}
}

// TestNext looks again after a while although nothing happens, and sooner at children of which nothing may tell that
// they are well.
func TestNext(t *testing.T) {
	settled := Child{Name: "a", Selected: true, Entry: entry(3, 10, 10), Reading: Reading{Share: share(3, 10, 0)}}
	with := func(change func(c *Child)) Child {
		c := settled
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		child  Child
		gone   bool
		static bool
		exact  time.Duration
		about  time.Duration
	}{
		"at rest":       {child: settled, about: pace.RoundInterval(1, 1)},
		"there is none": {child: with(func(c *Child) { c.Reading = Reading{Failure: "no Cluster"} }), gone: true, about: pace.RoundInterval(1, 1)},
		"health probes fail": {
			child: with(func(c *Child) { c.Reading.Failure = "health probes fail" }), about: pace.RetryInterval,
		},
		"could not be written": {
			child: with(func(c *Child) { c.Reading.HeldBack = Obstacle{Message: "no room"} }), about: pace.RetryInterval,
		},
		"stalled": {
			child: with(func(c *Child) { c.Past.StalledFor = time.Second }), exact: time.Second, about: pace.RoundInterval(1, 1),
		},
		"damped": {
			child: with(func(c *Child) { c.Past.DampedFor = time.Second }), exact: time.Second, about: pace.RoundInterval(1, 1),
		},
		"damped, static": {
			child: with(func(c *Child) { c.Past.DampedFor = time.Second }), static: true, about: pace.RoundInterval(1, 1),
		},
		"its agent is behind": {
			child: with(func(c *Child) { s := *c.Reading.Share; s.Behind = true; c.Reading.Share = &s }),
			exact: pace.DonorPatience, about: pace.RetryInterval,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(tc.child)
			if tc.gone {
				in.Children[0].UID, in.Children[0].Selected = "", false
			}
			in.Split.Static = tc.static
			d := New(in).Decide()
			if exact, about := d.Next(1); exact != tc.exact || about != tc.about {
				t.Errorf("got %s and %s, want %s and %s", exact, about, tc.exact, tc.about)
			}
		})
	}
}

// TestAdmission has no request be held in a child that leaves: it gets nothing any more.
func TestAdmission(t *testing.T) {
	in := inputOf(
		Child{Name: "stays", Selected: true, Entry: entry(1, 5, 5), Reading: Reading{Share: share(1, 5, 0)}},
		Child{Name: "leaves", Entry: entry(2, 5, 5), Reading: Reading{Share: share(2, 5, 0)}},
	)
	in.Admission.Poke = "Disabled"
	for name, want := range map[string]quotav1alpha1.Admission{"stays": {Poke: "Disabled"}, "leaves": {Mode: "Off", Poke: "Disabled"}} {
		if _, v := verdictOf(in, name); v.Admission != want {
			t.Errorf("%s: %+v", name, v.Admission)
		}
	}
}

// TestTakenOver has a share that another hub has written for a Cluster of its own: the entry stays as it is, nothing is
// written, and nobody gets what it may have become there. A restore that shows by the revision alone is one.
func TestTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		owner    string
		revision int64
		taken    bool
	}{
		"another hub's":             {owner: "uid-elsewhere", revision: 9, taken: true},
		"ours, of a later ledger":   {owner: "uid-p1", revision: 9},
		"of nobody":                 {revision: 9},
		"written before ours was":   {owner: "uid-elsewhere", revision: 2},
		"at the revision of ours":   {owner: "uid-elsewhere", revision: 3},
		"ours, as it was decided":   {owner: "uid-p1", revision: 3},
		"of nobody, as was decided": {revision: 3},
	} {
		t.Run(name, func(t *testing.T) {
			told := share(c.revision, 1, 0)
			told.Owner = c.owner
			in := inputOf(
				Child{Name: "p1", Selected: true, Entry: entry(3, 5, 5), Reading: Reading{Share: told}},
				Child{Name: "p2", Selected: true, Entry: entry(3, 5, 5), Reading: Reading{Share: share(3, 5, 5)}},
			)
			d, v := verdictOf(in, "p1")
			if taken := v.Why.Message == takenOver; taken != c.taken {
				t.Fatalf("got %s: %q", v.State, v.Why.Message)
			}
			if !c.taken {
				return
			}
			if e, _ := d.Ledger.Entry("p1"); v.Order != OrderNone || v.State != quotav1alpha1.ClusterUnreachable || e.Granted["pods"] != 5 {
				t.Errorf("order %v, state %s, %+v", v.Order, v.State, e)
			}
			if e, _ := d.Ledger.Entry("p2"); e.Granted["pods"] != 5 {
				t.Errorf("p2 has %+v", e)
			}
		})
	}
}

// TestInputStays decides on inputs of many kinds, and demands that they stay as they are.
func TestInputStays(t *testing.T) {
	for name, made := range map[string]func() *Input{
		"rolling out": func() *Input { return rollingOut(2) },
		"taking over": func() *Input {
			in := inputOf(occupied("a", entry(3, 0, 0), 8, 6), occupied("b", entry(4, 0, 0), 8, 0))
			in.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
			return in
		},
		"removing": func() *Input {
			in := inputOf(Child{Name: "a", Selected: true, Entry: entry(1, 5, 5), Reading: Reading{Share: share(1, 5, 3)}})
			in.Removing = true
			return in
		},
		"another Cluster of the name": func() *Input {
			in := inputOf(Child{Name: "a", Selected: true, Entry: entry(1, 5, 5), Reading: Reading{Share: share(1, 5, 3)}})
			in.Children[0].Entry.UID = "uid-before"
			return in
		},
		"joining": func() *Input { return inputOf(Child{Name: "a", Selected: true, Marker: 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			in := made()
			New(in).Decide()
			New(in).Explain()
			if diff := cmp.Diff(made(), in); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}
