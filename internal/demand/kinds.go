package demand

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// mostKinds is how many kinds of demand are told apart, with the rest.
const mostKinds = 8

// Need is what is asked for together.
type Need struct {
	// Amounts are what is asked for.
	Amounts amount.List
	// Unit is what one of the requests asks for, the smallest if they differ.
	Unit amount.List
}

// and is both needs together.
func (n Need) and(other Need, budget amount.List) Need {
	return Need{Amounts: amount.Sum(n.Amounts, other.Amounts), Unit: smaller(n.Unit, other.Unit, budget)}
}

// kinds puts those requests together that ask for the same of what a share limits, small ones before large ones: so
// they are served.
func kinds(share *quotav1alpha1.QuotaShare, needs map[string]Need) []Need {
	return together(maps.Values(needs), share.Spec.Hard, budgetOf(share))
}

// Together puts the demand of several together, of what a budget limits.
func Together(needs []Need, hard corev1.ResourceList) []Need {
	return together(slices.Values(needs), hard, amount.Saturate(hard, amount.Down))
}

func together(needs iter.Seq[Need], hard corev1.ResourceList, budget amount.List) []Need {
	byRequest := map[string]Need{}
	for need := range needs {
		if need = need.limited(hard); len(need.Amounts) > 0 {
			key := need.names() + ":" + need.request()
			byRequest[key] = byRequest[key].and(need, budget)
		}
	}
	keys := slices.SortedFunc(maps.Keys(byRequest), func(a, b string) int {
		return cmp.Or(cmp.Compare(size(byRequest[a].Unit, budget), size(byRequest[b].Unit, budget)), cmp.Compare(a, b))
	})
	sorted := make([]Need, 0, len(keys))
	for _, key := range keys {
		sorted = append(sorted, byRequest[key])
	}
	return merged(sorted, budget)
}

// merged merges what there is beyond the most kinds into the largest smaller kind of the same names, as long as there
// are not more names than kinds: who lacks one of many resources must not hold up those who want nothing of it.
func merged(sorted []Need, budget amount.List) []Need {
	unseen := map[string]bool{}
	for _, need := range sorted {
		unseen[need.names()] = true
	}
	kinds, last := sorted[:0:0], map[string]int{}
	for _, need := range sorted {
		names := need.names()
		into, known := last[names]
		switch {
		case len(kinds) == mostKinds && !known:
			into = mostKinds - 1
		case !known || len(kinds)+len(unseen) < mostKinds:
			into = len(kinds)
			kinds = append(kinds, Need{})
		}
		delete(unseen, names)
		last[names] = into
		kinds[into] = kinds[into].and(need, budget)
	}
	return kinds
}

// names are the names that are asked for.
func (n Need) names() string {
	var names []string
	for _, name := range n.Amounts.Names() {
		names = append(names, string(name))
	}
	return strings.Join(names, " ")
}

// request is what one request asks for, as a key.
func (n Need) request() string {
	var amounts []string
	for _, name := range n.Unit.Names() {
		amounts = append(amounts, fmt.Sprint(name, "=", n.Unit[name]))
	}
	return strings.Join(amounts, " ")
}

// size is the largest part of the budget of any name that a request asks for. It only decides what comes first.
func size(unit, budget amount.List) float64 {
	var largest float64
	for name, value := range unit {
		largest = max(largest, float64(value)/float64(max(budget[name], 1)))
	}
	return largest
}

// smaller is the smaller of two requests, the other one if there is but one.
func smaller(a, b, budget amount.List) amount.List {
	if len(a) == 0 || len(b) > 0 && size(b, budget) < size(a, budget) {
		return b
	}
	return a
}

// limited is what a need asks for of the names that are limited.
func (n Need) limited(hard corev1.ResourceList) Need {
	only := Need{Amounts: amount.List{}, Unit: amount.List{}}
	for name, value := range n.Amounts {
		if _, limited := hard[name]; limited && value > 0 {
			only.Amounts[name] = value
			if unit := n.Unit[name]; unit > 0 {
				only.Unit[name] = unit
			}
		}
	}
	return only
}

// Total is what all of the demand asks for.
func Total(demand []Need) amount.List {
	total := amount.List{}
	for _, need := range demand {
		total = amount.Sum(total, need.Amounts)
	}
	return total
}
