// Package shape puts demand together that comes in requests of one unit.
package shape

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// most is how many shapes are told apart, with the rest.
const most = 8

// Shape is what is asked for together.
type Shape struct {
	// Amounts are what is asked for.
	Amounts amount.List
	// Unit is what one of the requests asks for, the smallest if they differ.
	Unit amount.List
}

// And is both together.
func (s Shape) And(other Shape, budget amount.List) Shape {
	return Shape{Amounts: amount.Sum(s.Amounts, other.Amounts), Unit: smaller(s.Unit, other.Unit, budget)}
}

// Max is what both ask for that are about the same requests: as much as the larger one.
func (s Shape) Max(other Shape, budget amount.List) Shape {
	return Shape{Amounts: amount.Max(s.Amounts, other.Amounts), Unit: smaller(s.Unit, other.Unit, budget)}
}

// Join puts those together that ask for the same of what hard limits, small ones before large ones: so they are served.
// Budget is what all clusters may use together.
func Join(asked iter.Seq[Shape], hard corev1.ResourceList, budget amount.List) []Shape {
	byRequest := map[string]Shape{}
	for s := range asked {
		if s = s.Limited(hard); len(s.Amounts) > 0 {
			key := s.names() + ":" + s.Request()
			byRequest[key] = byRequest[key].And(s, budget)
		}
	}
	keys := slices.SortedFunc(maps.Keys(byRequest), func(a, b string) int {
		return cmp.Or(cmp.Compare(size(byRequest[a].Unit, budget), size(byRequest[b].Unit, budget)), cmp.Compare(a, b))
	})
	sorted := make([]Shape, 0, len(keys))
	for _, key := range keys {
		sorted = append(sorted, byRequest[key])
	}
	return merged(sorted, budget)
}

// merged merges what there is beyond the most shapes into the largest smaller one of the same names, as long as there
// are not more names than shapes: who lacks one of many resources must not hold up those who want nothing of it.
func merged(sorted []Shape, budget amount.List) []Shape {
	unseen := map[string]bool{}
	for _, s := range sorted {
		unseen[s.names()] = true
	}
	shapes, last := sorted[:0:0], map[string]int{}
	for _, s := range sorted {
		names := s.names()
		into, known := last[names]
		switch {
		case len(shapes) == most && !known:
			into = most - 1
		case !known || len(shapes)+len(unseen) < most:
			into = len(shapes)
			shapes = append(shapes, Shape{})
		}
		delete(unseen, names)
		last[names] = into
		shapes[into] = shapes[into].And(s, budget)
	}
	return shapes
}

// names are the names that are asked for.
func (s Shape) names() string {
	var names []string
	for _, name := range s.Amounts.Names() {
		names = append(names, string(name))
	}
	return strings.Join(names, " ")
}

// Request is what one request asks for, as a key.
func (s Shape) Request() string {
	var amounts []string
	for _, name := range s.Unit.Names() {
		amounts = append(amounts, fmt.Sprint(name, "=", s.Unit[name]))
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

// Limited is what it asks for of the names that hard limits.
func (s Shape) Limited(hard corev1.ResourceList) Shape {
	only := Shape{Amounts: amount.List{}, Unit: amount.List{}}
	for name, value := range s.Amounts {
		if _, limited := hard[name]; limited && value > 0 {
			only.Amounts[name] = value
			if unit := s.Unit[name]; unit > 0 {
				only.Unit[name] = unit
			}
		}
	}
	return only
}

// Total is what all of the demand asks for.
func Total(demand []Shape) amount.List {
	total := amount.List{}
	for _, s := range demand {
		total = amount.Sum(total, s.Amounts)
	}
	return total
}
