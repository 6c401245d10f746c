// Package quantity computes with quantities, and changes none of them.
package quantity

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Plus returns a + b.
func Plus(a, b resource.Quantity) resource.Quantity {
	sum := a.DeepCopy()
	sum.Add(b)
	return sum
}

// Minus returns a - b.
func Minus(a, b resource.Quantity) resource.Quantity {
	difference := a.DeepCopy()
	difference.Sub(b)
	return difference
}

// Larger returns the larger of a and b.
func Larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// Smaller returns the smaller of a and b.
func Smaller(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

// Above returns by how much a is larger than b, and whether it is.
func Above(a, b resource.Quantity) (resource.Quantity, bool) {
	return Minus(a, b), a.Cmp(b) > 0
}
