package shares

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

func TestStateOf(t *testing.T) {
	enforced := func(reason string) Condition {
		return Condition{Type: "Enforced", Reason: reason, Message: "because of " + reason}
	}
	stuck, broken := yes("StuckQuotaController", "CanaryNotSynced", "it stands"), yes("BreakGlass", "Annotated", "fire")
	uncharged := yes("ChargesRefused", "ChargeNotStored", "policy p")
	away := Reading{Failure: "away"}
	says := func(revision, hard, used int64, conditions ...Condition) Reading {
		return Reading{Share: share(revision, hard, used, conditions...)}
	}
	tests := map[string]struct {
		entry   *Entry
		reading Reading
		leaves  bool
		want    quotav1alpha1.ClusterState
		message string
	}{
		"never read":       {entry: entry(0, 0, 10), reading: away, want: "Unread", message: "away"},
		"away":             {entry: entry(3, 5, 5), reading: away, want: "Unreachable", message: "away"},
		"settled":          {entry: entry(3, 5, 5), reading: says(3, 5, 1), want: "Settled"},
		"on its way":       {entry: entry(3, 5, 7), reading: says(2, 7, 1), want: "Settling"},
		"no share yet":     {entry: entry(3, 5, 5), want: "Settling"},
		"above its target": {entry: entry(3, 5, 7), reading: says(3, 7, 7), want: "Draining", message: "more is used than its target of pods"},
		"leaving":          {entry: entry(3, 0, 7), reading: says(3, 7, 7), leaves: true, want: "Leaving", message: "it has not given back pods"},
		"about to be gone": {entry: entry(3, 0, 0), reading: says(3, 0, 0), leaves: true, want: "Leaving"},
		"held back":        {entry: entry(3, 5, 5), reading: Reading{HeldBack: Obstacle{"Refused", "no room"}}, want: "NotReady", message: "no room"},
		"unknown resource": {entry: entry(3, 5, 5), reading: says(3, 5, 1, enforced("UnknownResource")), want: "NotReady", message: "because of UnknownResource"},
		"name taken":       {entry: entry(3, 5, 5), reading: says(3, 5, 1, enforced("NameTaken")), want: "NotReady", message: "because of NameTaken"},
		"not written":      {entry: entry(3, 5, 5), reading: says(2, 5, 1, enforced("WriteFailed")), want: "NotReady", message: "because of WriteFailed"},
		"not released":     {entry: entry(3, 0, 0), reading: says(3, 0, 1, enforced("WriteFailed")), leaves: true, want: "NotReady", message: "because of WriteFailed"},
		"pending":          {entry: entry(3, 5, 5), reading: says(2, 5, 1, enforced("Pending")), want: "Settling"},
		"stuck":            {entry: entry(3, 5, 5), reading: says(3, 5, 1, stuck), want: "Stuck", message: "it stands"},
		"cannot charge":    {entry: entry(3, 5, 5), reading: says(3, 5, 1, uncharged, stuck), want: "NotReady", message: "policy p"},
		"broken glass":     {entry: entry(3, 5, 5), reading: says(3, 5, 1, stuck, broken), want: "BreakGlass", message: "fire"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if told := tc.reading.Share; told != nil {
				told.Hard = tc.entry.Target
			}
			in := inputOf(Child{Name: "p1", Selected: !tc.leaves, Entry: tc.entry, Reading: tc.reading})
			in.Halted = Obstacle{"Conflict", "nothing is decided"}
			_, v := verdictOf(in, "p1")
			if v.State != tc.want || v.Why.Message != tc.message || (v.Why.Reason != "") != (v.State == quotav1alpha1.ClusterNotReady) {
				t.Errorf("got %s: %+v, want %s: %q", v.State, v.Why, tc.want, tc.message)
			}
		})
	}
}

// debtOf decides a round, and returns what it says of debt.
func debtOf(in *Input) string {
	for _, c := range New(in).Decide().Conditions {
		if c.Type == quotav1alpha1.ConditionDebt {
			return c.Message
		}
	}
	return ""
}

// TestDebt names the children that hold most above their target, in an order that stays, and counts the others.
func TestDebt(t *testing.T) {
	in := inputOf()
	in.Budget = amount.List{"pods": 10, "memory": 8 << 30}
	in.Formats = corev1.ResourceList{"pods": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	in.Halted = Obstacle{"Conflict", "nothing is decided"}
	hold := func(name string, reading Reading, target, granted amount.List) {
		in.Children = append(in.Children, Child{
			Name: name, UID: "uid-" + name, Selected: true, Reading: reading,
			Entry: &Entry{UID: "uid-" + name, Entry: ledger.Entry{Revision: 1, Target: target, Granted: granted}},
		})
	}
	away := Reading{Failure: "away"}
	want := func(message string) {
		t.Helper()
		in.Revision = 1
		if diff := cmp.Diff(message, debtOf(in)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	hold("east", away, amount.List{"pods": 1, "memory": 1 << 30}, amount.List{"pods": 3, "memory": 1 << 30})
	hold("north", away, amount.List{"pods": 4, "memory": 8 << 30}, amount.List{"pods": 4, "memory": 8 << 30})
	const more = "More is granted than the budget allows, so nobody is raised: "
	want(more + "1Gi of memory")
	hold("south", away, amount.List{"pods": 1, "memory": 0}, amount.List{"pods": 3, "memory": 0})
	hold("west", away, amount.List{"pods": 2, "memory": 0}, amount.List{"pods": 5, "memory": 3 << 30})
	want(more + "4Gi of memory, held by west (Unreachable) 3Gi; " +
		"5 of pods, held by west (Unreachable) 3, east (Unreachable) 2, south (Unreachable) 2")
}

// TestDebtForGood says of a budget that is too small for what each namespace has by itself that waiting does not help.
func TestDebtForGood(t *testing.T) {
	for budget, want := range map[int64]string{
		1: "More is granted than the budget allows, so nobody is raised: 1 of resourcequotas " +
			"(each of the 2 clusters needs one, since the namespace has one there by itself, the ResourceQuota of the budget: raise the budget)",
		2: "",
	} {
		in := inputOf()
		in.Budget, in.Halted, in.Revision = amount.List{"resourcequotas": budget}, Obstacle{"Conflict", "nothing is decided"}, 1
		for _, name := range []string{"east", "west"} {
			one := amount.List{"resourcequotas": 1}
			in.Children = append(in.Children, Child{
				Name: name, UID: "uid-" + name, Selected: true, Reading: Reading{Failure: "away"},
				Entry: &Entry{UID: "uid-" + name, Entry: ledger.Entry{Revision: 1, Target: one, Granted: one}},
			})
		}
		if diff := cmp.Diff(want, debtOf(in)); diff != "" {
			t.Errorf("a budget of %d: -want +got:\n%s", budget, diff)
		}
	}
}

func TestAbbreviated(t *testing.T) {
	for count, want := range map[int]string{
		0: "", 1: "c0", 5: "c0, c1, c2, c3, c4", 6: "c0, c1, c2, c3, c4 and 1 more", 1000: "c0, c1, c2, c3, c4 and 995 more",
	} {
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		if got := Abbreviated(names); got != want {
			t.Errorf("%d names: got %q, want %q", count, got, want)
		}
	}
}

func TestWants(t *testing.T) {
	tests := map[string]struct {
		used, demand, limit int64
		leaves, away        bool
		want                bool
	}{
		"nothing":             {used: 5, limit: 5},
		"what it has":         {used: 3, demand: 2, limit: 5},
		"more":                {used: 3, demand: 3, limit: 5, want: true},
		"more, and it leaves": {used: 3, demand: 3, limit: 5, leaves: true},
		"more, long ago":      {used: 3, demand: 3, limit: 5, away: true},
		"more than there is":  {used: 3, demand: math.MaxInt64, limit: 5, want: true},
		"all, and has no end": {used: 3, demand: math.MaxInt64, limit: math.MaxInt64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &child{Child: &Child{Selected: !tc.leaves}, demand: amount.List{"pods": tc.demand}, report: ledger.Report{
				Used: amount.List{"pods": tc.used}, Hard: amount.List{"pods": tc.limit},
			}}
			if tc.away {
				c.failure = "away"
			}
			c.look()
			if got := c.wants(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
