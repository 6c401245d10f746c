package apportion

import "cmp"

// A seat is one unit in a claimant's hands: the one that takes it from x to x+1 stands at the level (2x+1)/(2·weight).
// Fill hands out the lowest seats; at one level, those of the lowest rank, and then of the lowest index.

// addSeats hands out the next n seats.
func (f *Filler) addSeats(n int64) {
	f.collect(func(p *part) bool { return p.x < p.hi }, nextBefore)
	for range n {
		p := f.heap[0]
		p.x++
		f.restore(p.x < p.hi, nextBefore)
	}
}

// removeSeats takes back the last n seats.
func (f *Filler) removeSeats(n int64) {
	f.collect(func(p *part) bool { return p.x > p.lo }, lastAfter)
	for range n {
		p := f.heap[0]
		p.x--
		f.restore(p.x > p.lo, lastAfter)
	}
}

// nextBefore says whether the next seat of a comes before the next seat of b.
func nextBefore(a, b *part) bool {
	return compareSeats(a, a.x, b, b.x) < 0
}

// lastAfter says whether the last seat that a holds comes after the last seat that b holds.
func lastAfter(a, b *part) bool {
	return compareSeats(a, a.x-1, b, b.x-1) > 0
}

// compareSeats compares the seats from x to x+1 of a and from y to y+1 of b.
func compareSeats(a *part, x uint64, b *part, y uint64) int {
	return cmp.Or(
		compareProducts(2*x+1, b.weight, 2*y+1, a.weight),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.index, b.index),
	)
}

// collect builds the heap of those open claimants that can move, the first of them on top.
func (f *Filler) collect(can func(*part) bool, first func(a, b *part) bool) {
	f.heap = f.heap[:0]
	for i := range f.parts {
		if can(&f.parts[i]) {
			f.heap = append(f.heap, &f.parts[i])
		}
	}
	for i := len(f.heap)/2 - 1; i >= 0; i-- {
		f.sink(i, first)
	}
}

// restore brings the heap back into order after its top has moved, without the top if it can move no further.
func (f *Filler) restore(stays bool, first func(a, b *part) bool) {
	if last := len(f.heap) - 1; !stays {
		f.heap[0] = f.heap[last]
		f.heap = f.heap[:last]
	}
	f.sink(0, first)
}

// sink moves the entry i of the heap down to its place.
func (f *Filler) sink(i int, first func(a, b *part) bool) {
	for {
		child := 2*i + 1
		if child >= len(f.heap) {
			return
		}
		if right := child + 1; right < len(f.heap) && first(f.heap[right], f.heap[child]) {
			child = right
		}
		if !first(f.heap[child], f.heap[i]) {
			return
		}
		f.heap[i], f.heap[child] = f.heap[child], f.heap[i]
		i = child
	}
}
