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

// peak is the highest of the values that were seen within a window.
type peak struct {
	current int64
	past    []dated // higher than the current one, from high to low; each counts until it leaves the window
}

// see takes a new value at a time.
func (p *peak) see(value int64, now, window time.Duration) {
	if value < p.current {
		p.drop(p.current)
		p.past = append(p.past, dated{now + window, p.current})
	}
	p.current = value
	p.drop(value)
}

// drop forgets past values that are no higher than the given one.
func (p *peak) drop(value int64) {
	for len(p.past) > 0 && p.past[len(p.past)-1].amount <= value {
		p.past = p.past[:len(p.past)-1]
	}
}

// at returns the peak of the window that ends now.
func (p *peak) at(now time.Duration) int64 {
	for len(p.past) > 0 && p.past[0].until <= now {
		p.past = p.past[1:]
	}
	if len(p.past) > 0 {
		return p.past[0].amount
	}
	return p.current
}
