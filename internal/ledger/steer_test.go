package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

func TestSteer(t *testing.T) {
	target := func(child string, value int64) ledger.Target {
		return ledger.Target{Child: child, Amounts: amount.List{pods: value}}
	}
	tests := map[string]struct {
		before  entries
		targets []ledger.Target
		refused string
		want    state
	}{
		"what a donor gives is not free before it confirmed": {
			before:  entries{"a": entry(7, 50, 50), "b": entry(8, 50, 50)},
			targets: []ledger.Target{target("b", 80), target("a", 20)},
			want:    state{11, entries{"a": entry(11, 50, 20), "b": entry(8, 50, 50)}},
		},
		"what is free goes out in the order of the targets": {
			before:  entries{"a": entry(7, 40, 40), "b": entry(8, 50, 50)},
			targets: []ledger.Target{target("b", 58), target("a", 45)},
			want:    state{12, entries{"a": entry(12, 42, 42), "b": entry(11, 58, 58)}},
		},
		"a child is restored first, and then raised": {
			before:  entries{"a": entry(7, 40, 10)},
			targets: []ledger.Target{target("a", 45)},
			want:    state{12, entries{"a": entry(12, 45, 45)}},
		},
		"who may not be raised is restored and lowered nevertheless": {
			before:  entries{"a": entry(7, 40, 10), "b": entry(8, 20, 20)},
			targets: []ledger.Target{target("a", 45), target("b", 5)},
			refused: "a",
			want:    state{12, entries{"a": entry(11, 40, 40), "b": entry(12, 20, 5)}},
		},
		"a child that may hold anything is lowered only": {
			before:  entries{"a": entry(7, unknown, 10), "b": entry(8, unknown, 10)},
			targets: []ledger.Target{target("a", 45), target("b", 5)},
			want:    state{11, entries{"a": entry(7, unknown, 10), "b": entry(11, unknown, 5)}},
		},
		"a child without an entry, and one that was never read, are left alone": {
			before:  entries{"a": entry(0, 0, 0)},
			targets: []ledger.Target{target("nobody", 45), target("a", 45)},
			want:    state{10, entries{"a": entry(0, 0, 0)}},
		},
		"nothing changes where all have their targets": {
			before:  entries{"a": entry(7, 40, 40)},
			targets: []ledger.Target{target("a", 40)},
			want:    state{10, entries{"a": entry(7, 40, 40)}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(amount.List{pods: 100}, 10, tc.before)
			l.Steer(tc.targets, func(child string, _ corev1.ResourceName) bool { return child != tc.refused })
			if diff := cmp.Diff(tc.want, stateOf(l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSteerRaisesWithinTheBudget is I1: any ledger, any reports and any targets. Where a target goes up, the sum is
// within the budget.
func TestSteerRaisesWithinTheBudget(t *testing.T) {
	names := []corev1.ResourceName{pods, cpu}
	value := rapid.Map(rapid.Int64Range(0, 40), func(value int64) int64 {
		if value == 40 {
			return unknown
		}
		return value
	})
	list := rapid.Custom(func(t *rapid.T) amount.List {
		return amount.List{pods: value.Draw(t, "pods"), cpu: value.Draw(t, "cpu")}
	})
	rapid.Check(t, func(t *rapid.T) {
		before, children := entries{}, []string{"a", "b", "c"}
		for _, child := range children {
			before[child] = ledger.Entry{
				Revision: rapid.Int64Range(0, 3).Draw(t, "revision"), Granted: list.Draw(t, "granted"), Target: list.Draw(t, "target"),
			}
		}
		budget := amount.List{pods: rapid.Int64Range(0, 120).Draw(t, "budget"), cpu: rapid.Int64Range(0, 120).Draw(t, "budget")}
		l := ledger.New(budget, 3, before)
		var targets []ledger.Target
		for _, child := range children {
			l.Hear(child, ledger.Report{Revision: rapid.Int64Range(0, 3).Draw(t, "reported"), Hard: list.Draw(t, "hard"), Used: list.Draw(t, "used")})
			targets = append(targets, ledger.Target{Child: child, Amounts: list.Draw(t, "wanted")})
		}
		charged := stateOf(l).Entries
		l.Steer(targets, func(string, corev1.ResourceName) bool { return true })
		for child, e := range stateOf(l).Entries {
			for _, name := range names {
				if e.Target[name] > charged[child].Target[name] && l.Granted(name) > l.Budget()[name] {
					t.Fatalf("%s is raised to %d of %s, and the sum is %d of %d", child, e.Target[name], name, l.Granted(name), l.Budget()[name])
				}
			}
		}
	})
}

func TestVerdicts(t *testing.T) {
	tests := map[string]struct {
		entry                ledger.Entry
		report               ledger.Report
		settled, disagreeing bool
	}{
		"in force, and granted came down":     {entry: entry(7, 20, 20), report: report(7, 20, 3), settled: true},
		"in force, and not yet charged":       {entry: entry(7, 60, 20), report: report(7, 20, 3)},
		"an older revision with equal limits": {entry: entry(7, 20, 20), report: report(6, 20, 3)},
		"usage above the target":              {entry: entry(7, 30, 20), report: report(7, 30, 30)},
		"usage above the limit":               {entry: entry(7, 20, 20), report: report(7, 20, 30)},
		"usage not known":                     {entry: entry(7, 20, 20), report: ledger.Report{Revision: 7}},
		"never read":                          {entry: entry(0, 0, 0), report: report(0, 0, 0)},
		"a limit below the target":            {entry: entry(7, 20, 20), report: report(7, 19, 3), disagreeing: true},
		"an older limit below the target":     {entry: entry(7, 20, 20), report: report(6, 19, 3)},
		"a limit that the entry does not have": {
			entry:       entry(7, 20, 20),
			report:      ledger.Report{Revision: 7, Hard: amount.List{pods: 20, cpu: 1}, Used: amount.List{pods: 3, cpu: 0}},
			disagreeing: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(amount.List{pods: 100}, 10, entries{"a": tc.entry})
			got := []bool{l.Settled("a", tc.report), l.Disagrees("a", tc.report), l.Settled("nobody", tc.report), l.Disagrees("nobody", tc.report)}
			if diff := cmp.Diff([]bool{tc.settled, tc.disagreeing, false, false}, got); diff != "" {
				t.Errorf("settled, disagrees (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRolledBack(t *testing.T) {
	share := func(revision, hard, inForce int64) ledger.Share {
		return ledger.Share{Revision: revision, Hard: amount.List{pods: hard}, InForce: inForce}
	}
	tests := map[string]struct {
		entry ledger.Entry
		seen  ledger.Share
		want  bool
	}{
		"the share of the entry":                   {entry: entry(7, 60, 20), seen: share(7, 20, 7)},
		"an older share":                           {entry: entry(7, 60, 20), seen: share(6, 60, 6)},
		"a newer share":                            {entry: entry(7, 60, 20), seen: share(8, 20, 6), want: true},
		"an older share, and a newer one in force": {entry: entry(7, 60, 20), seen: share(6, 60, 8), want: true},
		"the same revision of another ledger":      {entry: entry(7, 60, 20), seen: share(7, 21, 7), want: true},
		"an older share, and the entry's in force": {entry: entry(7, 60, 20), seen: share(6, 60, 7)},
		"a child that was never read has no past":  {entry: entry(0, 0, 0), seen: share(8, 20, 8)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(amount.List{pods: 100}, 10, entries{"a": tc.entry})
			if got := l.RolledBack("a", tc.seen); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if l.RolledBack("nobody", tc.seen) {
				t.Error("a child without an entry has no past")
			}
		})
	}
}

func TestReturned(t *testing.T) {
	both := func(list amount.List) ledger.Report {
		return ledger.Report{Revision: 7, Hard: amount.List{pods: 0, cpu: 0}, Used: list}
	}
	nothing := ledger.Entry{Revision: 7, Granted: amount.List{pods: 0, cpu: 0}, Target: amount.List{pods: 0, cpu: 0}}
	tests := map[string]struct {
		entry  ledger.Entry
		report ledger.Report
		want   bool
	}{
		"nothing is held":                        {entry: nothing, report: both(amount.List{pods: 0, cpu: 0}), want: true},
		"nothing is counted under a name":        {entry: nothing, report: both(amount.List{pods: 0}), want: true},
		"a name that is not limited yet":         {entry: nothing, report: report(7, 0, 0)},
		"an older revision":                      {entry: nothing, report: ledger.Report{Revision: 6, Hard: amount.List{pods: 0, cpu: 0}}},
		"something is granted":                   {entry: entry(7, 1, 0), report: both(amount.List{pods: 0, cpu: 0})},
		"a name that left the budget is granted": {entry: ledger.Entry{Revision: 7, Granted: amount.List{pods: 0, cpu: 0, "services": 1}, Target: nothing.Target}, report: both(nil)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(amount.List{pods: 100, cpu: 100}, 10, entries{"a": tc.entry})
			if got := l.Returned("a", tc.report); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if l.Returned("nobody", tc.report) {
				t.Error("a child without an entry cannot leave")
			}
		})
	}
}
