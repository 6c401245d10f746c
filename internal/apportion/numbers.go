package apportion

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/fedquota/fedquota/internal/amount"
)

// Total is a sum of amounts, none below zero. It saturates above every int64, so that it never compares as less than
// what it stands for.
type Total uint64

// Add adds an amount, which is not below zero.
func (t *Total) Add(n int64) {
	if *t <= math.MaxInt64 {
		*t += Total(n)
	}
}

// Exceeds says whether the sum is above an amount, which is not below zero.
func (t Total) Exceeds(n int64) bool {
	return t > Total(n)
}

// MinusFrom is n − t, and zero if that is below zero.
func (t Total) MinusFrom(n int64) int64 {
	if t.Exceeds(n) {
		return 0
	}
	return n - int64(t)
}

// Percent is a share of 100; below zero it counts as zero.
func Percent(p int64) Fraction {
	return Fraction{Num: uint64(max(p, 0)), Den: 100}
}

// Times is n·by, rounded down, for an amount not below zero; it saturates.
func Times(n int64, by Fraction) int64 {
	high, low := bits.Mul64(uint64(n), by.Num)
	if high >= by.Den {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, by.Den)
	return int64(min(quotient, math.MaxInt64))
}

// TimesUp is n·by, rounded up.
func TimesUp(n int64, by Fraction) int64 {
	down := Times(n, by)
	if compareProducts(uint64(down), by.Den, uint64(n), by.Num) < 0 {
		return amount.Add(down, 1)
	}
	return down
}

// Fraction is num/den, with den above zero.
type Fraction struct {
	Num, Den uint64
}

// Compare is negative if a is below b, zero if they are equal, and positive if a is above b.
func (a Fraction) Compare(b Fraction) int {
	return compareProducts(a.Num, b.Den, b.Num, a.Den)
}

// compareProducts compares a·b with c·d.
func compareProducts(a, b, c, d uint64) int {
	abHigh, abLow := bits.Mul64(a, b)
	cdHigh, cdLow := bits.Mul64(c, d)
	if abHigh != cdHigh {
		return cmp.Compare(abHigh, cdHigh)
	}
	return cmp.Compare(abLow, cdLow)
}
