package forecast

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestMain has properties tried on 200 random changes, unless the command line says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "200"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// child is a settled one.
func child(name string, limit, used, demand int64) shares.Child {
	hard := amount.List{"pods": limit}
	c := shares.Child{
		Name: name, UID: "uid-" + name, Selected: true, Terms: round.Terms{Weight: 1},
		Entry: &shares.Entry{Entry: ledger.Entry{Revision: 5, Granted: hard.Clone(), Target: hard.Clone()}, UID: "uid-" + name},
	}
	c.Reading.Share = &shares.Share{
		Owner: c.UID, Revision: 5, Hard: hard.Clone(), Demand: amount.List{"pods": demand},
		Report: ledger.Report{Revision: 5, Hard: hard.Clone(), Used: amount.List{"pods": used}},
	}
	if demand > 0 {
		c.Reading.Share.Shapes = []round.Shape{{Amounts: amount.List{"pods": demand}, Unit: amount.List{"pods": 1}}}
	}
	return c
}

func inputOf(budget int64, children ...shares.Child) shares.Input {
	return shares.Input{
		ID: "uid", Key: "team-a/compute", Budget: amount.List{"pods": budget}, Formats: corev1.ResourceList{}, Revision: 5, SpecRevision: 1,
		Split: round.Split{Options: pace.Options(true), Respites: pace.Respites()}, Children: children,
	}
}

// targets returns what limits come to: "a 4/4, b 6/9" of target and granted.
func targets(d *shares.Decision) string {
	text := ""
	for _, name := range d.Ledger.Clusters() {
		e, _ := d.Ledger.Entry(name)
		text += fmt.Sprintf("%s %d/%d ", name, e.Target["pods"], e.Granted["pods"])
	}
	return text
}

// TestPlay says where limits come to rest in the cases that people plan for.
func TestPlay(t *testing.T) {
	away := child("b", 4, 1, 0)
	away.Reading = shares.Reading{Failure: "there is no connection"}
	broken := child("b", 4, 6, 0)
	broken.Reading.Share.Said = map[string]shares.Condition{quotav1alpha1.ConditionBreakGlass: {True: true}}
	leaving := child("b", 4, 3, 0)
	leaving.Selected = false
	idle := child("b", 4, 0, 0)
	idle.Selected = false
	absent := child("b", 4, 1, 0)
	absent.Reading.Share.Behind, absent.Reading.Share.Report.Revision = true, 4
	absent.Entry.State, absent.Entry.Reason = quotav1alpha1.ClusterNotReady, quotav1alpha1.ReasonAgentAbsent
	taken := child("b", 0, 0, 0)
	taken.Reading.Share.Report = ledger.Report{}
	taken.Reading.Share.Found = &shares.Found{UID: "found", Hard: amount.List{"pods": 3}, Used: amount.List{"pods": 2}}
	taken.Reading.Share.Said = map[string]shares.Condition{quotav1alpha1.ConditionEnforced: {Reason: quotav1alpha1.ReasonNameTaken}}
	takesOver := inputOf(8, child("a", 4, 2, 0), taken)
	takesOver.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	joining := shares.Child{Name: "b", UID: "uid-b", Selected: true, Terms: round.Terms{Weight: 1}}
	for name, tc := range map[string]struct {
		in            shares.Input
		static, stuck bool
		used          map[string]amount.List
		rest, drained string
	}{
		"nothing":          {in: inputOf(80, child("a", 30, 20, 0), child("b", 30, 20, 0)), rest: "a 30/30 b 30/30 "},
		"demand":           {in: inputOf(8, child("a", 4, 4, 4), child("b", 4, 0, 0)), rest: "a 8/8 b 0/0 "},
		"too much demand":  {in: inputOf(8, child("a", 4, 4, 9), child("b", 4, 3, 0)), rest: "a 5/5 b 3/3 "},
		"static":           {in: inputOf(12, child("a", 4, 2, 0), child("b", 4, 2, 0)), static: true, rest: "a 6/6 b 6/6 "},
		"cut below usage":  {in: inputOf(4, child("a", 6, 6, 0), child("b", 2, 0, 0)), static: true, rest: "a 2/6 b 2/2 ", drained: "a 2/2 b 2/2 "},
		"away":             {in: inputOf(4, child("a", 4, 2, 0), away), static: true, stuck: true, rest: "a 2/2 b 2/4 "},
		"broken glass":     {in: inputOf(8, child("a", 4, 2, 0), broken), static: true, stuck: true, rest: "a 4/4 b 4/6 "},
		"leaves":           {in: inputOf(8, child("a", 4, 2, 0), leaving), static: true, rest: "a 5/5 b 0/3 ", drained: "a 8/8 "},
		"leaves at once":   {in: inputOf(8, child("a", 4, 2, 0), idle), static: true, rest: "a 8/8 "},
		"no agent":         {in: inputOf(8, child("a", 4, 2, 0), absent), stuck: true, rest: "a 4/4 b 4/4 "},
		"name taken":       {in: inputOf(8, child("a", 4, 2, 0), taken), static: true, stuck: true, rest: "a 4/4 b 0/0 "},
		"takes over":       {in: takesOver, static: true, rest: "a 4/4 b 4/4 "},
		"joins":            {in: inputOf(8, child("a", 4, 2, 0), joining), static: true, rest: "a 4/4 b 4/4 "},
		"joins with usage": {in: inputOf(8, child("a", 4, 2, 0), joining), static: true, used: map[string]amount.List{"b": {"pods": 6}}, rest: "a 4/4 b 0/6 ", drained: "a 4/4 b 4/4 "},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Split.Static = tc.static
			outcome, err := Play(tc.in, tc.used)
			if err != nil {
				t.Fatal(err)
			}
			if enforced := outcome.Drained.Ready; enforced == tc.stuck {
				t.Errorf("ready: %t, want %t", enforced, !tc.stuck)
			}
			if got := targets(outcome.Rest); got != tc.rest {
				t.Errorf("at rest: %q, want %q", got, tc.rest)
			}
			if tc.drained == "" {
				tc.drained = tc.rest
			}
			if got := targets(outcome.Drained); got != tc.drained {
				t.Errorf("drained: %q, want %q", got, tc.drained)
			}
		})
	}
}

// TestPlayEqualsWhatHappens plays random changes in fleets whose members act one at a time, in any order and between
// any rounds, until usage above targets has ended: limits come to rest where Play says. In mode Auto that is so of what
// clusters need: room that nobody needs stays where it happens to be.
func TestPlayEqualsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t, rapid.Bool().Draw(t, "auto"))
		outcome, err := Play(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		show := targets
		if !in.Split.Static {
			show = func(d *shares.Decision) string { return served(in, d) }
		}
		if got, want := show(happens(t, in)), show(outcome.Drained); got != want {
			t.Fatalf("limits came to rest at %q, foretold was %q", got, want)
		}
	})
}

// served returns what each child gets of what it uses and asks for.
func served(in shares.Input, d *shares.Decision) string {
	text := ""
	for _, c := range in.Children {
		share := c.Reading.Share
		e, _ := d.Ledger.Entry(c.Name)
		text += fmt.Sprintf("%s %d ", c.Name, min(e.Target["pods"], share.Report.Used["pods"]+share.Demand["pods"]))
	}
	return text
}

// drawn returns a settled fleet, and another budget, other weights, or another placement than it has settled under.
func drawn(t *rapid.T, auto bool) shares.Input {
	var children []shares.Child
	var sum int64
	for i := range rapid.IntRange(1, 5).Draw(t, "children") {
		limit := rapid.Int64Range(0, 20).Draw(t, "limit")
		used, demand := rapid.Int64Range(0, limit).Draw(t, "used"), int64(0)
		if auto && rapid.Bool().Draw(t, "asks") {
			used, demand = limit, rapid.Int64Range(1, 20).Draw(t, "demand")
		}
		c := child(fmt.Sprintf("c%d", i), limit, used, demand)
		c.Terms.Weight = rapid.Int64Range(0, 3).Draw(t, "weight")
		c.Selected = rapid.IntRange(0, 5).Draw(t, "selected") > 0
		children = append(children, c)
		sum += limit
	}
	in := inputOf(max(0, sum+rapid.Int64Range(-20, 20).Draw(t, "more")), children...)
	in.SpecRevision = 0
	in.Split.Static = !auto
	return in
}

// happens has members obey one at a time, between rounds, and usage above targets end at last, until nothing moves.
func happens(t *rapid.T, in shares.Input) *shares.Decision {
	p := &player{in: in}
	p.in.Children = slices.Clone(in.Children)
	quiet := 0
	for range 2000 {
		d := shares.New(&p.in).Decide()
		store(&p.in, d)
		if atRest(d) {
			if quiet++; quiet > 2 && !p.drain(d) {
				return d
			}
			giveUp(&p.in)
			continue
		}
		quiet = 0
		v := &d.Verdicts[rapid.IntRange(0, len(d.Verdicts)-1).Draw(t, "who")]
		p.obey(d, v)
	}
	t.Fatal("limits do not come to rest")
	return nil
}
