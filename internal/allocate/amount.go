package allocate

import "math"

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
