package allocate

import (
	"cmp"
	"math/bits"
	"slices"
)

// fraction is num/den, with den above zero.
type fraction struct {
	num, den uint64
}

// compare is negative if a is below b, zero if they are equal, and positive if a is above b.
func (a fraction) compare(b fraction) int {
	return compareProducts(a.num, b.den, b.num, a.den)
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

// event is a level at which a member leaves its lo and begins to grow with the level, or reaches its hi and stops.
type event struct {
	at   fraction
	part int // its index; no pointer, which would slow down the sort
	stop bool
}

// scaleWeights makes the sum of the weights fit into 64 bits, at the price of their lowest bits.
func (f *filler) scaleWeights() {
	var largest uint64
	for i := range f.parts {
		largest = max(largest, f.parts[i].weight)
	}
	excess := bits.Len64(largest) + bits.Len(uint(len(f.parts)-1)) - 64
	if excess <= 0 {
		return
	}
	for i := range f.parts {
		f.parts[i].weight = max(f.parts[i].weight>>excess, 1)
	}
}

// level returns the level L at which the sum of all weight·L, clamped to lo and hi but not rounded, is the sum of all
// lo and rest. The sum is a polyline in L that rises from zero rest to more than rest: the sweep walks along its
// corners and stops on the segment where it crosses.
func (f *filler) level(rest uint64) fraction {
	weight, gap := f.corners(rest)
	for _, e := range f.events {
		// On this segment the sum grows by weight per unit of level, and at level zero it would be gap short.
		if compareProducts(weight, e.at.num, gap, e.at.den) >= 0 {
			break
		}
		p := &f.parts[e.part]
		if e.stop {
			weight -= p.weight
			gap -= p.hi
		} else {
			weight += p.weight
			gap += p.lo
		}
	}
	return fraction{num: gap, den: weight}
}

// corners lists the corners of the polyline by level. It returns the segment that begins at level zero: the weight of
// those that grow from there, and how much the sum is short of its goal there.
func (f *filler) corners(rest uint64) (weight, gap uint64) {
	f.events = f.events[:0]
	gap = rest
	for i := range f.parts {
		p := &f.parts[i]
		if p.lo == 0 {
			weight += p.weight
		} else {
			f.events = append(f.events, event{at: fraction{p.lo, p.weight}, part: i})
		}
		// Who can take all of the rest never stops before the sum is reached.
		if p.hi-p.lo < rest {
			f.events = append(f.events, event{at: fraction{p.hi, p.weight}, part: i, stop: true})
		}
	}
	slices.SortFunc(f.events, func(a, b event) int { return a.at.compare(b.at) })
	return weight, gap
}

// round sets every x to weight·level, rounded to the nearest integer (halves down) and clamped, and returns how much
// is then missing from the rest: at most half a unit per member, and below zero if too much was handed out.
func (f *filler) round(level fraction, rest uint64) (missing int64) {
	missing = int64(rest)
	for i := range f.parts {
		p := &f.parts[i]
		p.x = min(max(timesRounded(p.weight, level), p.lo), p.hi)
		missing -= int64(p.x - p.lo)
	}
	return missing
}

// timesRounded is n·by rounded to the nearest integer, halves down, and the largest uint64 if it exceeds that.
func timesRounded(n uint64, by fraction) uint64 {
	high, low := bits.Mul64(n, by.num)
	if high >= by.den {
		return 1<<64 - 1
	}
	quotient, remainder := bits.Div64(high, low, by.den)
	if remainder > by.den-remainder && quotient < 1<<64-1 {
		quotient++
	}
	return quotient
}
