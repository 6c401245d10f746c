package allocate

import (
	"math"
	"math/bits"
)

// total is a sum of amounts, none below zero. It saturates above every int64, so that it never compares as less than
// what it stands for.
type total uint64

// add adds an amount, which is not below zero.
func (t *total) add(amount int64) {
	if *t <= math.MaxInt64 {
		*t += total(amount)
	}
}

// exceeds says whether the sum is above an amount, which is not below zero.
func (t total) exceeds(amount int64) bool {
	return t > total(amount)
}

// minusFrom is amount − t, and zero if that is below zero.
func (t total) minusFrom(amount int64) int64 {
	if t.exceeds(amount) {
		return 0
	}
	return amount - int64(t)
}

// plus is a + b for amounts not below zero; it saturates.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// percent is a share of 100; below zero it counts as zero.
func percent(p int64) fraction {
	return fraction{num: uint64(max(p, 0)), den: 100}
}

// times is amount·by, rounded down, for an amount not below zero; it saturates.
func times(amount int64, by fraction) int64 {
	high, low := bits.Mul64(uint64(amount), by.num)
	if high >= by.den {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, by.den)
	return int64(min(quotient, math.MaxInt64))
}

// timesUp is amount·by, rounded up.
func timesUp(amount int64, by fraction) int64 {
	down := times(amount, by)
	if compareProducts(uint64(down), by.den, uint64(amount), by.num) < 0 {
		return plus(down, 1)
	}
	return down
}
