package amount

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mostTight is how many resources a column of kubectl has room for.
const mostTight = 2

// tightestLimit is the most bytes that the schema lets be there. One name and its amounts are always less.
const tightestLimit = 512

// Tightest returns the resources of which the largest part of a budget is used, that one first, as a column of kubectl
// shows them.
func Tightest(budget, used List, formats corev1.ResourceList) string {
	ratio := func(name corev1.ResourceName) float64 { return float64(used[name]) / float64(max(1, budget[name])) }
	names := budget.Names()
	slices.SortStableFunc(names, func(a, b corev1.ResourceName) int { return cmp.Compare(ratio(b), ratio(a)) })
	var parts []string
	for _, name := range names[:min(len(names), mostTight)] {
		format := formats[name].Format
		u, b := ToQuantity(name, used[name], format), ToQuantity(name, budget[name], format)
		parts = append(parts, fmt.Sprintf("%s: %s/%s", name, u.String(), b.String()))
	}
	if all := strings.Join(parts, ", "); len(all) <= tightestLimit {
		return all
	}
	return parts[0]
}
