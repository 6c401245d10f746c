package shares

import (
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// rollingOut is a child with a limit of 8 that has ended 2 of its 8 pods to replace them, of which its report says so
// much, beside one with a limit of 2 that wants far more.
func rollingOut(replacing int64) *Input {
	in := inputOf(
		Child{Name: "a", Selected: true, Entry: entry(1, 8, 8), Reading: Reading{Share: share(1, 8, 6)}},
		Child{Name: "b", Selected: true, Entry: entry(2, 2, 2), Reading: Reading{Share: share(2, 2, 2)}},
	)
	in.Split.Options = pace.Options(true)
	in.Children[0].Reading.Share.Demand = amount.List{"pods": 4}
	in.Children[0].Reading.Share.Replacing = amount.List{"pods": replacing}
	in.Children[1].Reading.Share.Demand = amount.List{"pods": 17}
	return in
}

// TestReplacing keeps of a target what its child needs to replace objects, and no more; after what others are guaranteed,
// and not against a cut.
func TestReplacing(t *testing.T) {
	for name, tc := range map[string]struct {
		replacing int64
		change    func(in *Input)
		want      int64
	}{
		"nothing":                          {want: 6},
		"a part of what it gave up":        {replacing: 1, want: 7},
		"all of it":                        {replacing: 2, want: 8},
		"no more than it had":              {replacing: 5, want: 8},
		"what it uses itself is no room":   {replacing: 2, change: func(in *Input) { in.Children[0].Reading.Share.Report.Used["pods"] = 3 }, want: 5},
		"what the other one is guaranteed": {replacing: 2, change: func(in *Input) { in.Children[1].Terms.Min = amount.List{"pods": 4} }, want: 6},
		"its max":                          {replacing: 2, change: func(in *Input) { in.Children[0].Terms.Max = amount.List{"pods": 7} }, want: 7},
		"a cut":                            {replacing: 2, change: func(in *Input) { in.Budget["pods"] = 7 }, want: 3},
		"a child that is left out":         {replacing: 2, change: func(in *Input) { in.Children[0].Selected = false }, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := rollingOut(tc.replacing)
			if tc.change != nil {
				tc.change(in)
			}
			d, _ := verdictOf(in, "a")
			if e, _ := d.Ledger.Entry("a"); e.Target["pods"] != tc.want {
				t.Errorf("its target is %d, want %d", e.Target["pods"], tc.want)
			}
		})
	}
}

// TestExplainReplacing says of the child that keeps room what it keeps it for, and of the other one what it waits for.
func TestExplainReplacing(t *testing.T) {
	account := New(rollingOut(2)).Explain()
	a, b := account.Children[0].Claims["pods"], account.Children[1].Claims["pods"]
	if a.Replacing != 2 || a.Bound != round.BoundBudget || b.Replacing != 0 || b.Bound != round.BoundReplacing {
		t.Errorf("a: %+v\nb: %+v", a, b)
	}
}
