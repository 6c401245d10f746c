// Package amount turns quantities into exact integers, one unit per resource name, and back.
//
// The unit is a thousandth for cpu names and 1 for everything else. Amounts are int64; a quantity that does not fit is
// an error of the caller's input, never a wrapped number.
package amount

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Limit is the largest amount of anything; the one above it stands for what is unknown.
const Limit int64 = math.MaxInt64 - 1

// List is an amount per resource name, in the unit of that name.
type List map[corev1.ResourceName]int64

// Rounding says where a quantity between two units goes.
type Rounding int

const (
	// Down rounds budgets and upper bounds.
	Down Rounding = iota
	// Up rounds usage, demand and lower bounds.
	Up
)

// Scale returns the unit of a resource name as a power of ten: milli for cpu names, 0 for the rest.
func Scale(name corev1.ResourceName) resource.Scale {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU:
		return resource.Milli
	default:
		return 0
	}
}

// FromQuantity returns q in the unit of name. It fails if the number is above Limit or negative.
func FromQuantity(name corev1.ResourceName, q resource.Quantity, rounding Rounding) (int64, error) {
	scale := Scale(name)
	if q.Sign() < 0 {
		return 0, fmt.Errorf("%s is negative: must be 0 or more", q.String())
	}
	if limit := resource.NewScaledQuantity(Limit, scale); q.Cmp(*limit) > 0 {
		return 0, fmt.Errorf("%s is too large: must be at most %s", q.String(), limit.String())
	}
	up := q.ScaledValue(scale) // rounds up
	if rounding == Down && resource.NewScaledQuantity(up, scale).Cmp(q) > 0 {
		return up - 1, nil
	}
	return up, nil
}

// Saturate returns the amounts of a list of quantities that somebody reported: what does not fit counts as the most or
// the least that does.
func Saturate(quantities corev1.ResourceList, rounding Rounding) List {
	list := make(List, len(quantities))
	for name, q := range quantities {
		value, err := FromQuantity(name, q, rounding)
		if err != nil && q.Sign() > 0 {
			value = math.MaxInt64
		}
		list[name] = value
	}
	return list
}

// ToQuantity returns an amount of name as a quantity in the given format.
func ToQuantity(name corev1.ResourceName, value int64, format resource.Format) resource.Quantity {
	q := resource.NewScaledQuantity(value, Scale(name))
	if format != "" {
		q.Format = format
	}
	return *q
}

// Text returns an amount of name as people write it, in the format of the quantity that formats has of it.
func Text(name corev1.ResourceName, value int64, formats corev1.ResourceList) string {
	q := ToQuantity(name, value, formats[name].Format)
	return q.String()
}

// InBaseUnits returns an amount of name in cores, bytes or objects, as metrics give it. The most that can be counted is
// what nobody knows the amount of: +Inf.
func InBaseUnits(name corev1.ResourceName, value int64) float64 {
	if value == math.MaxInt64 {
		return math.Inf(1)
	}
	q := ToQuantity(name, value, "")
	return q.AsApproximateFloat64()
}

// ToList returns the amounts as quantities, each in the format that the same name has in like.
func (l List) ToList(like corev1.ResourceList) corev1.ResourceList {
	quantities := make(corev1.ResourceList, len(l))
	for name, value := range l {
		quantities[name] = ToQuantity(name, value, like[name].Format)
	}
	return quantities
}

// Clone returns a copy.
func (l List) Clone() List { return maps.Clone(l) }

// Names returns the resource names, sorted.
func (l List) Names() []corev1.ResourceName { return slices.Sorted(maps.Keys(l)) }

// Only returns the part of the list whose names are in other.
func (l List) Only(other List) List {
	part := make(List, len(l))
	for name, value := range l {
		if _, ok := other[name]; ok {
			part[name] = value
		}
	}
	return part
}

// Covers says whether every amount of other is at most the one of the same name in l; a missing one is 0.
func (l List) Covers(other List) bool {
	for name, value := range other {
		if value > l[name] {
			return false
		}
	}
	return true
}

// IsZero says whether no amount differs from 0.
func (l List) IsZero() bool {
	for _, value := range l {
		if value != 0 {
			return false
		}
	}
	return true
}

// Max returns the larger of the two amounts of each name that both lists have, and the one of a name that only one has.
func Max(a, b List) List {
	return merge(a, b, func(x, y int64) int64 { return max(x, y) })
}

// Sum returns a + b per name of either list, as Add does.
func Sum(a, b List) List { return merge(a, b, Add) }

// merge returns a and b in one list, with what of makes of the two amounts of a name that both have.
func merge(a, b List, of func(x, y int64) int64) List {
	result := a.Clone()
	if result == nil {
		result = make(List, len(b))
	}
	for name, value := range b {
		if other, both := result[name]; both {
			value = of(other, value)
		}
		result[name] = value
	}
	return result
}

// Times returns count times each amount, all of 0 or more, at most math.MaxInt64.
func (l List) Times(count int64) List {
	result := make(List, len(l))
	for name, value := range l {
		if result[name] = value * count; value > 0 && count > math.MaxInt64/value {
			result[name] = math.MaxInt64
		}
	}
	return result
}

// Fitting returns how many of a unit the list has room for, in all names of the unit; of one that takes nothing, any
// number.
func (l List) Fitting(unit List) int64 {
	count := int64(math.MaxInt64)
	for name, each := range unit {
		if each > 0 {
			count = min(count, l[name]/each)
		}
	}
	return count
}

// Filling returns how many of a unit it takes until they have what the list has, in all names of the unit.
func (l List) Filling(unit List) int64 {
	count := int64(0)
	for name, each := range unit {
		if each > 0 {
			count = max(count, l[name]/each+min(1, l[name]%each))
		}
	}
	return count
}

// Sub returns a − b per name of a, at least 0.
func Sub(a, b List) List {
	result := make(List, len(a))
	for name, value := range a {
		result[name] = max(0, value-max(0, b[name]))
	}
	return result
}

// Add returns the sum of two amounts of 0 or more, at most math.MaxInt64.
func Add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Equal says whether both lists have the same names and amounts.
func (l List) Equal(other List) bool { return maps.Equal(l, other) }
