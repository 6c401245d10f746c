package simulate

import "time"

// dated is an amount that counts until a time.
type dated struct {
	until  time.Duration
	amount int64
}

// aging is a sum of amounts of which each counts for the same while.
type aging struct {
	parts []dated
	sum   int64
}

// add adds an amount that counts until then; no earlier one counts longer.
func (a *aging) add(amount int64, until time.Duration) {
	a.parts = append(a.parts, dated{until, amount})
	a.sum += amount
}

// at returns the sum of what still counts.
func (a *aging) at(now time.Duration) int64 {
	for len(a.parts) > 0 && a.parts[0].until <= now {
		a.sum -= a.parts[0].amount
		a.parts = a.parts[1:]
	}
	return a.sum
}

// least returns the smallest of what still counted when at was called last, and 0 if nothing did.
func (a *aging) least() int64 {
	var least int64
	for _, part := range a.parts {
		if least == 0 || part.amount < least {
			least = part.amount
		}
	}
	return least
}
