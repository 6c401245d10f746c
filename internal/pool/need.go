package pool

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/round"
)

// AlsoNeeded returns what a child has to keep of a larger part before it could serve what is asked of it, by name: what
// its own children need together, beyond what they use and ask for. What nothing is asked of needs nothing kept.
func AlsoNeeded(needs, used, demand amount.List) amount.List {
	kept := amount.List{}
	for name, need := range needs {
		if asked := demand[name]; asked > 0 {
			if more := need - amount.Add(used[name], asked); more > 0 {
				kept[name] = more
			}
		}
	}
	return kept
}

// WithAlsoNeeded returns demand and its shapes with what the child has to keep: its smallest requests need that, too.
func WithAlsoNeeded(demand, kept amount.List, shapes []round.Shape) (amount.List, []round.Shape) {
	if kept.IsZero() || len(shapes) == 0 {
		return amount.Sum(demand, kept), shapes
	}
	with := append([]round.Shape{}, shapes...)
	kept = kept.Only(with[0].Amounts)
	with[0] = round.Shape{Amounts: amount.Sum(with[0].Amounts, kept), Unit: amount.Sum(with[0].Unit, kept)}
	return amount.Sum(demand, kept), with
}
