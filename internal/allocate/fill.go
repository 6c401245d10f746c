package allocate

import "math"

// Unlimited is a Max that bounds nothing.
const Unlimited = math.MaxInt64

// Bound is one member's part in a Fill.
type Bound struct {
	// Weight is the member's claim relative to the others. A member of weight zero (or less) is last in line: it gets
	// Lo, and more only once every weighted member holds its Hi. Those of weight zero are equals among themselves.
	Weight int64
	// Lo and Hi bound the result. Below zero they count as zero, and a Hi below Lo counts as Lo.
	Lo, Hi int64
	// Rank breaks ties: the lower goes first. Members with the same rank go in the order in which they are listed.
	Rank uint64
}

// Fill distributes the budget: x with Lo ≤ x ≤ Hi, whose sum is the budget. When the Lo alone reach the budget, each
// member gets its Lo, and when the Hi do not exceed it, each its Hi: only then does the sum differ from the budget.
//
// It is a bounded Webster apportionment: x is Weight·L rounded to the nearest integer (halves down) and clamped, at the
// one level L that spends the budget; Rank breaks a tie at that level. The same comes out when the units are handed out
// one by one, each to the member with the smallest (2x+1)/Weight. With Hi as the demand it is the weighted max-min fair
// share. The cost is O(M log M) for M members, whatever the budget.
//
// Weights whose sum does not fit into 64 bits lose their lowest bits.
func Fill(budget int64, bounds []Bound) []int64 {
	out := make([]int64, len(bounds))
	new(filler).fill(budget, bounds, out)
	return out
}

// filler is Fill with its working memory, which grows with the number of members and is used again.
type filler struct {
	parts  []part
	events []event
	heap   []*part
}

// part is a member whose result is still open, lo < hi.
type part struct {
	weight uint64 // above zero
	lo, hi uint64
	x      uint64
	rank   uint64
	index  int
}

// fill writes Fill(budget, bounds) to out, which has the length of bounds.
func (f *filler) fill(budget int64, bounds []Bound, out []int64) {
	rest := max(budget, 0)
	for i := range bounds {
		out[i], _ = bounds[i].limits()
		rest -= min(out[i], rest)
	}
	for _, weighted := range []bool{true, false} {
		room := f.open(bounds, weighted)
		if room.exceeds(rest) {
			f.apportion(uint64(rest))
			f.close(out)
			return
		}
		for i := range f.parts {
			f.parts[i].x = f.parts[i].hi
		}
		f.close(out)
		rest -= int64(room)
	}
}

// open collects the members of one class, weighted or of weight zero, that can take more than their Lo, and returns
// how much more they can take together.
func (f *filler) open(bounds []Bound, weighted bool) total {
	var room total
	f.parts = f.parts[:0]
	for i := range bounds {
		lo, hi := bounds[i].limits()
		if lo == hi || weighted != (bounds[i].Weight > 0) {
			continue
		}
		room.add(hi - lo)
		f.parts = append(f.parts, part{
			weight: uint64(max(bounds[i].Weight, 1)),
			lo:     uint64(lo),
			hi:     uint64(hi),
			rank:   bounds[i].Rank,
			index:  i,
		})
	}
	f.scaleWeights()
	return room
}

// close writes the result of every open member to out.
func (f *filler) close(out []int64) {
	for i := range f.parts {
		out[f.parts[i].index] = int64(f.parts[i].x)
	}
}

// apportion sets x of every open member, so that together they take rest more than their lo. The rest is less than
// what they can take, which is why there is a level that spends it.
func (f *filler) apportion(rest uint64) {
	if rest == 0 {
		for i := range f.parts {
			f.parts[i].x = f.parts[i].lo
		}
		return
	}
	missing := f.round(f.level(rest), rest)
	switch {
	case missing > 0:
		f.addSeats(missing)
	case missing < 0:
		f.removeSeats(-missing)
	}
}

// limits are the bounds as they count: 0 ≤ lo ≤ hi.
func (b *Bound) limits() (lo, hi int64) {
	lo = max(b.Lo, 0)
	return lo, max(b.Hi, lo)
}
