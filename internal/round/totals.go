package round

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Totals are sums over children.
type Totals struct {
	Granted, Free, Used, Demand amount.List
	// Settled is how many of the Selected children enforce their target.
	Settled, Selected int
}

// Tally is what a child adds to the totals: what it says, or said last.
type Tally struct {
	Selected, Settled bool
	Used, Demand      amount.List
}

// Total sums up what the children have, by resource name of the budget.
func Total(l *ledger.Ledger, children []Tally) Totals {
	budget := l.Budget()
	t := Totals{Granted: amount.List{}, Free: amount.List{}, Used: amount.List{}, Demand: amount.List{}}
	for name := range budget {
		t.Granted[name], t.Free[name] = l.Granted(name), l.Free(name)
	}
	for _, c := range children {
		if c.Selected {
			t.Selected++
		}
		if c.Settled {
			t.Settled++
		}
		t.Used, t.Demand = amount.Sum(t.Used, c.Used.Only(budget)), amount.Sum(t.Demand, c.Demand.Only(budget))
	}
	return t
}
