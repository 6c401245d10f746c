// Package apportion distributes a budget in integers: by weight, within bounds, with ties that a rank decides.
package apportion

// Stake is one claimant's part in a Fill.
type Stake struct {
	// Weight is the claimant's claim relative to the others. A claimant of weight zero (or less) is last in line: it gets
	// Lo, and more only once every weighted claimant holds its Hi. Those of weight zero are equals among themselves.
	Weight int64
	// Lo and Hi bound the result. Below zero they count as zero, and a Hi below Lo counts as Lo.
	Lo, Hi int64
	// Rank breaks ties: the lower goes first. Members with the same rank go in the order in which they are listed.
	Rank uint64
}

// Fill distributes the budget: x with Lo ≤ x ≤ Hi, whose sum is the budget. When the Lo alone reach the budget, each
// claimant gets its Lo, and when the Hi do not exceed it, each its Hi: only then does the sum differ from the budget.
//
// It is a bounded Webster apportionment: x is Weight·L rounded to the nearest integer (halves down) and clamped, at
// the one level L that spends the budget; Rank breaks a tie at that level. The same comes out when the units are
// handed out one by one, each to the claimant with the smallest (2x+1)/Weight. With Hi as the demand it is the
// weighted max-min fair share. The cost is O(M log M) for M claimants, whatever the budget.
//
// Weights whose sum does not fit into 64 bits lose their lowest bits.
func Fill(budget int64, stakes []Stake) []int64 {
	out := make([]int64, len(stakes))
	new(Filler).Fill(budget, stakes, out)
	return out
}

// Filler is Fill with its working memory, which grows with the number of claimants and is used again.
type Filler struct {
	parts  []part
	events []event
	heap   []*part
}

// part is a claimant whose result is still open, lo < hi.
type part struct {
	weight uint64 // above zero
	lo, hi uint64
	x      uint64
	rank   uint64
	index  int
}

// Fill writes Fill(budget, stakes) to out, which has the length of stakes.
func (f *Filler) Fill(budget int64, stakes []Stake, out []int64) {
	rest := max(budget, 0)
	for i := range stakes {
		out[i], _ = stakes[i].limits()
		rest -= min(out[i], rest)
	}
	for _, weighted := range []bool{true, false} {
		room := f.open(stakes, weighted)
		if room.Exceeds(rest) {
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

// open collects the claimants of one class, weighted or of weight zero, that can take more than their Lo, and returns
// how much more they can take together.
func (f *Filler) open(stakes []Stake, weighted bool) Total {
	var room Total
	f.parts = f.parts[:0]
	for i := range stakes {
		lo, hi := stakes[i].limits()
		if lo == hi || weighted != (stakes[i].Weight > 0) {
			continue
		}
		room.Add(hi - lo)
		f.parts = append(f.parts, part{
			weight: uint64(max(stakes[i].Weight, 1)),
			lo:     uint64(lo),
			hi:     uint64(hi),
			rank:   stakes[i].Rank,
			index:  i,
		})
	}
	f.scaleWeights()
	return room
}

// close writes the result of every open claimant to out.
func (f *Filler) close(out []int64) {
	for i := range f.parts {
		out[f.parts[i].index] = int64(f.parts[i].x)
	}
}

// apportion sets x of every open claimant, so that together they take rest more than their lo. The rest is less than
// what they can take, which is why there is a level that spends it.
func (f *Filler) apportion(rest uint64) {
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
func (b *Stake) limits() (lo, hi int64) {
	lo = max(b.Lo, 0)
	return lo, max(b.Hi, lo)
}
