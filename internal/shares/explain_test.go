package shares

import (
	"math"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
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
	if !c.Pinned || account.Findings["c"].Why.Message != "away" {
		t.Errorf("c: %+v", c)
	}
	if in.Revision != 3 || in.Children[1].Entry.Revision != 2 {
		t.Error("it has decided something")
	}
}

// TestExplainWithAChildThatWasNotRead says of a child that asks for more that somebody was not read, and not that it is
// at a max.
func TestExplainWithAChildThatWasNotRead(t *testing.T) {
	in := inputOf(
		Child{Name: "a", Selected: true, Entry: entry(1, 4, 4), Reading: Reading{Share: share(1, 4, 4)}},
		Child{Name: "b", Selected: true, Entry: entry(2, 3, 3), Reading: Reading{Share: share(2, 3, 1)}},
		Child{Name: "c", Selected: true, Entry: entry(0, 0, ledger.Unknown), Reading: Reading{Failure: "away"}},
	)
	in.Children[0].Reading.Share.Demand = amount.List{"pods": 5}
	in.Split.Options = pace.Options(true)
	account := New(in).Explain()
	a := account.Children[0].Claims["pods"]
	if a.Bound != round.BoundUnread || a.Max != math.MaxInt64 || a.Verdict.Target != 4 || a.Verdict.Fair != 9 {
		t.Errorf("a: %+v", a)
	}
	if c := account.Children[2]; !c.Pinned || c.Claims["pods"].Granted != ledger.Unknown {
		t.Errorf("c: %+v", c)
	}
}

// TestExplainFullNodes says that full nodes keep a child from headroom, and not that nobody needs what it has.
func TestExplainFullNodes(t *testing.T) {
	full := yes(quotav1alpha1.ConditionNodesFull, "", "")
	in := inputOf(
		Child{Name: "a", Selected: true, Entry: entry(1, 4, 4), Reading: Reading{Share: share(1, 4, 4, full)}},
		Child{Name: "b", Selected: true, Entry: entry(2, 1, 1), Reading: Reading{Share: share(2, 1, 1)}},
	)
	in.Split.Options = pace.Options(true)
	a := New(in).Explain().Children[0].Claims["pods"]
	if a.Bound != round.BoundNodes || a.Max != math.MaxInt64 || a.Verdict.Target != 4 {
		t.Errorf("a: %+v", a)
	}
}
