package round

import (
	"testing"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestExplain says of a child that asks for more what it waits for, and of the one that has it why.
func TestExplain(t *testing.T) {
	in := inputOf(
		Child{Name: "a", Selected: true, Entry: entry(1, 7, 7), Reading: Reading{Share: share(1, 7, 7)}},
		Child{Name: "b", Selected: true, Entry: entry(2, 3, 3), Reading: Reading{Share: share(2, 3, 3)}},
		Child{Name: "c", Selected: true, Entry: entry(3, 0, 0), Reading: Reading{Failure: "away"}},
	)
	in.Children[1].Reading.Share.Demand = amount.List{"pods": 5}
	in.Split.Options = pace.Options(true)
	account := New(in).Explain()
	if account.Free["pods"] != 0 || account.Debt["pods"] != 0 || len(account.Children) != 3 {
		t.Fatalf("got %+v", account)
	}
	a, b, c := account.Children[0].Claims["pods"], account.Children[1].Claims["pods"], account.Children[2]
	if a.Verdict.Reason != allocate.Kept || a.Target != 7 || a.Part != 5 {
		t.Errorf("a: %+v", a)
	}
	if b.Verdict.Reason != allocate.Short || b.Next != 3 || b.Part != 5 || b.Demand != 5 {
		t.Errorf("b: %+v", b)
	}
	if !c.Pinned || c.Why.Message != "away" {
		t.Errorf("c: %+v", c)
	}
	if in.Revision != 3 || in.Children[1].Entry.Revision != 2 {
		t.Error("it has decided something")
	}
}
