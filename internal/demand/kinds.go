package demand

import (
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
	// Unit is the least of each that one of the requests asks for.
	Unit amount.List
}

// and is both needs together.
func (n Need) and(other Need) Need {
	return Need{Amounts: amount.Sum(n.Amounts, other.Amounts), Unit: amount.Min(n.Unit, other.Unit)}
}

// kinds puts those needs together that ask for the same of what a share limits, in a fixed order. Those that there are too many
// of are one.
func kinds(share *quotav1alpha1.QuotaShare, needs map[string]Need) []Need {
	byNames := map[string]Need{}
	for _, need := range needs {
		need = need.limited(share.Spec.Hard)
		if len(need.Amounts) == 0 {
			continue
		}
		names := make([]string, 0, len(need.Amounts))
		for _, name := range need.Amounts.Names() {
			names = append(names, string(name))
		}
		key := strings.Join(names, " ")
		byNames[key] = byNames[key].and(need)
	}
	var list []Need
	for _, key := range slices.Sorted(maps.Keys(byNames)) {
		if len(list) == mostKinds {
			list[mostKinds-1] = list[mostKinds-1].and(byNames[key])
		} else {
			list = append(list, byNames[key])
		}
	}
	return list
}

// limited is what a need asks for of the names that a share limits.
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
