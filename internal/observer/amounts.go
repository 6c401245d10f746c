package observer

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// plus returns a + b without touching either.
func plus(a, b resource.Quantity) resource.Quantity {
	sum := a.DeepCopy()
	sum.Add(b)
	return sum
}

// minus returns a - b without touching either.
func minus(a, b resource.Quantity) resource.Quantity {
	difference := a.DeepCopy()
	difference.Sub(b)
	return difference
}

// larger returns the larger of a and b.
func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// smaller returns the smaller of a and b.
func smaller(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

// above returns by how much a is larger than b, and whether it is.
func above(a, b resource.Quantity) (resource.Quantity, bool) {
	return minus(a, b), a.Cmp(b) > 0
}

// sortedKeys returns the keys of a map in order, so that reports are stable.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// namesOf returns the resource names of all lists, sorted and without repetition.
func namesOf(lists ...corev1.ResourceList) []corev1.ResourceName {
	all := corev1.ResourceList{}
	for _, list := range lists {
		maps.Copy(all, list)
	}
	return sortedKeys(all)
}
