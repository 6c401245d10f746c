package shares

import (
	"strings"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// occupied is a child whose first share of zero waits for a ResourceQuota that somebody else has made.
func occupied(name string, entry *Entry, hard, used int64) Child {
	return Child{Name: name, Selected: true, Entry: entry, Reading: Reading{Share: &Share{
		Revision: entry.Revision, Hard: entry.Target, Found: &Found{UID: "found", Hard: amount.List{"pods": hard}, Used: amount.List{"pods": used}},
		Said: map[string]Condition{"Enforced": {Reason: "NameTaken", Message: "it is taken"}},
	}}}
}

// TestTakeOver has limits of others charged, and taken over when the budget has room for what becomes of them.
func TestTakeOver(t *testing.T) {
	half := round.Terms{Weight: 1, Min: amount.List{"pods": 5}}
	for name, tc := range map[string]struct {
		policy   quotav1alpha1.TakeOverPolicy
		static   bool
		terms    round.Terms
		children []Child
		// granted and target are those of a, and allowed says whether its agent may take over.
		granted, target int64
		allowed         bool
		state           quotav1alpha1.ClusterState
		message         string
	}{
		"not asked for": {
			children: []Child{occupied("a", entry(3, 0, 0), 5, 1)},
			state:    quotav1alpha1.ClusterNotReady, message: "it is taken",
		},
		"as it is": {
			policy: quotav1alpha1.TakeOverAlways, terms: half, children: []Child{occupied("a", entry(3, 0, 0), 5, 1)},
			granted: 10, target: 10, allowed: true, state: quotav1alpha1.ClusterSettling, message: "its agent takes over",
		},
		"more than the budget has": {
			policy: quotav1alpha1.TakeOverAlways, terms: half, children: []Child{occupied("a", entry(3, 0, 0), 8, 0), occupied("b", entry(4, 0, 0), 8, 0)},
			granted: 5, target: 5, allowed: true, state: quotav1alpha1.ClusterSettling, message: "its agent takes over",
		},
		"more is used than the budget has": {
			policy: quotav1alpha1.TakeOverAlways, children: []Child{occupied("a", entry(3, 0, 0), 20, 15)},
			granted: 15, target: 0, allowed: true, state: quotav1alpha1.ClusterSettling, message: "its agent takes over",
		},
		"others use the budget": {
			policy: quotav1alpha1.TakeOverAlways, static: true,
			children: []Child{occupied("a", entry(3, 0, 0), 5, 0), {Name: "b", Selected: true, Entry: entry(4, 10, 10), Reading: Reading{Share: share(4, 10, 10)}}},
			state:    quotav1alpha1.ClusterSettling, message: "once the budget has room",
		},
		"others are unknown": {
			policy: quotav1alpha1.TakeOverAlways, terms: half,
			children: []Child{occupied("a", entry(3, 0, 0), 5, 0), {Name: "b", Selected: true, Entry: entry(0, 0, ledger.Unknown), Reading: Reading{Failure: "away"}}},
			state:    quotav1alpha1.ClusterSettling, message: "once the budget has room",
		},
		"others have yet to report": {
			policy: quotav1alpha1.TakeOverAlways, terms: half,
			children: []Child{occupied("a", entry(3, 0, 0), 5, 0), {Name: "b", Selected: true, Entry: entry(4, 0, 0)}},
			state:    quotav1alpha1.ClusterSettling, message: "once the budget has room",
		},
		"no difference": {
			policy: quotav1alpha1.TakeOverIfNoDiff, children: []Child{occupied("a", entry(3, 0, 0), 10, 1)},
			granted: 10, target: 10, allowed: true, state: quotav1alpha1.ClusterSettling, message: "its agent takes over",
		},
		"a difference": {
			policy: quotav1alpha1.TakeOverIfNoDiff, children: []Child{occupied("a", entry(3, 0, 0), 12, 1)},
			state: quotav1alpha1.ClusterNotReady, message: "its ResourceQuota differs from its share, and whenToTakeOver is IfNoDiff: pods is 12 and would be 10",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(tc.children...)
			in.Existing.WhenToTakeOver, in.Split.Static = tc.policy, tc.static
			for i := range in.Children {
				if tc.terms.Weight > 0 {
					in.Children[i].Terms = tc.terms
				}
			}
			d, v := verdictOf(in, "a")
			e, _ := d.Ledger.Entry("a")
			if e.Granted["pods"] != tc.granted || e.Target["pods"] != tc.target {
				t.Errorf("granted %d, target %d; want %d, %d", e.Granted["pods"], e.Target["pods"], tc.granted, tc.target)
			}
			if (v.TakeOver != nil) != tc.allowed {
				t.Errorf("allowed to take over: %+v; want %t", v.TakeOver, tc.allowed)
			}
			if v.State != tc.state || !strings.Contains(v.Why.Message, tc.message) {
				t.Errorf("%s: %q; want %s: %q", v.State, v.Why.Message, tc.state, tc.message)
			}
		})
	}
}

// TestTakeOverOfMore has a limit stay that the share would not take the place of.
func TestTakeOverOfMore(t *testing.T) {
	in := inputOf(occupied("a", entry(3, 0, 0), 5, 1))
	in.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	in.Children[0].Reading.Share.Found.Hard["services"] = 1
	d, v := verdictOf(in, "a")
	if e, _ := d.Ledger.Entry("a"); v.TakeOver != nil || e.Granted["pods"] != 0 {
		t.Errorf("allowed %+v, granted %v", v.TakeOver, e.Granted)
	}
}

// TestTakeOverReserves has nobody raised into what the limit lets be used that is about to be taken over.
func TestTakeOverReserves(t *testing.T) {
	busy := share(4, 2, 2)
	busy.Demand = amount.List{"pods": 9}
	in := inputOf(occupied("a", entry(3, 0, 0), 8, 1), Child{Name: "b", Selected: true, Entry: entry(4, 2, 2), Reading: Reading{Share: busy}})
	in.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	d, v := verdictOf(in, "b")
	if e, _ := d.Ledger.Entry("b"); e.Granted["pods"] != 2 {
		t.Errorf("granted %v to b, %+v", e.Granted, v)
	}
}

// TestTakeOverIsTold has the share be written until it says what may be taken over, and no longer once that is done.
func TestTakeOverIsTold(t *testing.T) {
	in := inputOf(occupied("a", entry(3, 10, 10), 10, 1))
	in.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	told := in.Children[0].Reading.Share
	told.Existing, told.Owner = in.Existing, in.Children[0].UID
	if _, v := verdictOf(in, "a"); v.Order != OrderUpdate {
		t.Errorf("order %q before it is told", v.Order)
	}
	told.Fleet.Budget = in.Budget
	told.TakeOver = &TakeOver{UID: "found", Hard: amount.List{"pods": 10}}
	if _, v := verdictOf(in, "a"); v.Order != OrderKeep {
		t.Errorf("order %q when it is told", v.Order)
	}
	told.Found = nil
	if _, v := verdictOf(in, "a"); v.Order != OrderUpdate || v.TakeOver != nil {
		t.Errorf("order %q, allowed %+v when nothing is left to take over", v.Order, v.TakeOver)
	}
}
