package apportion

import (
	"math/bits"
	"slices"
)

// event is a level at which a claimant leaves its lo and begins to grow with the level, or reaches its hi and stops.
type event struct {
	at   Fraction
	part int // its index; no pointer, which would slow down the sort
	stop bool
}

// scaleWeights makes the sum of the weights fit into 64 bits, at the price of their lowest bits.
func (f *Filler) scaleWeights() {
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
func (f *Filler) level(rest uint64) Fraction {
	weight, gap := f.corners(rest)
	for _, e := range f.events {
		// On this segment the sum grows by weight per unit of level, and at level zero it would be gap short.
		if compareProducts(weight, e.at.Num, gap, e.at.Den) >= 0 {
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
	return Fraction{Num: gap, Den: weight}
}

// corners lists the corners of the polyline by level. It returns the segment that begins at level zero: the weight of
// those that grow from there, and how much the sum is short of its goal there.
func (f *Filler) corners(rest uint64) (weight, gap uint64) {
	f.events = f.events[:0]
	gap = rest
	for i := range f.parts {
		p := &f.parts[i]
		if p.lo == 0 {
			weight += p.weight
		} else {
			f.events = append(f.events, event{at: Fraction{p.lo, p.weight}, part: i})
		}
		// Who can take all of the rest never stops before the sum is reached.
		if p.hi-p.lo < rest {
			f.events = append(f.events, event{at: Fraction{p.hi, p.weight}, part: i, stop: true})
		}
	}
	slices.SortFunc(f.events, func(a, b event) int { return a.at.Compare(b.at) })
	return weight, gap
}

// round sets every x to weight·level, rounded to the nearest integer (halves down) and clamped, and returns how much
// is then missing from the rest: at most half a unit per claimant, and below zero if too much was handed out.
func (f *Filler) round(level Fraction, rest uint64) (missing int64) {
	missing = int64(rest)
	for i := range f.parts {
		p := &f.parts[i]
		p.x = min(max(timesRounded(p.weight, level), p.lo), p.hi)
		missing -= int64(p.x - p.lo)
	}
	return missing
}

// timesRounded is n·by rounded to the nearest integer, halves down, and the largest uint64 if it exceeds that.
func timesRounded(n uint64, by Fraction) uint64 {
	high, low := bits.Mul64(n, by.Num)
	if high >= by.Den {
		return 1<<64 - 1
	}
	quotient, remainder := bits.Div64(high, low, by.Den)
	if remainder > by.Den-remainder && quotient < 1<<64-1 {
		quotient++
	}
	return quotient
}
