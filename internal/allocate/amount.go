package allocate

import (
	"math"
	"math/bits"

	"github.com/fedquota/fedquota/internal/amount"
)

// total is a sum of amounts, none below zero. It saturates above every int64, so that it never compares as less than
// what it stands for.
type total uint64

// add adds an amount, which is not below zero.
func (t *total) add(n int64) {
	if *t <= math.MaxInt64 {
		*t += total(n)
	}
}

// exceeds says whether the sum is above an amount, which is not below zero.
func (t total) exceeds(n int64) bool {
	return t > total(n)
}

// minusFrom is n − t, and zero if that is below zero.
func (t total) minusFrom(n int64) int64 {
	if t.exceeds(n) {
		return 0
	}
	return n - int64(t)
}

// percent is a share of 100; below zero it counts as zero.
func percent(p int64) fraction {
	return fraction{num: uint64(max(p, 0)), den: 100}
}

// times is n·by, rounded down, for an amount not below zero; it saturates.
func times(n int64, by fraction) int64 {
	high, low := bits.Mul64(uint64(n), by.num)
	if high >= by.den {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, by.den)
	return int64(min(quotient, math.MaxInt64))
}

// timesUp is n·by, rounded up.
func timesUp(n int64, by fraction) int64 {
	down := times(n, by)
	if compareProducts(uint64(down), by.den, uint64(n), by.num) < 0 {
		return amount.Add(down, 1)
	}
	return down
}
