package apportion

import (
	"cmp"
	"slices"
)

// Whole is the largest multiple of a grain that is not above n.
func Whole(n, grain int64) int64 { return n - n%grain }

// ToWhole is what n lacks of a multiple of a grain.
func ToWhole(n, grain int64) int64 { return (grain - n%grain) % grain }

// Ordered are the claimants in an order that depends on nothing that changes from round to round; those of weight zero
// come last.
func Ordered(stakes []Stake) []int {
	order := make([]int, len(stakes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return InLine(&stakes[i], &stakes[j]) })
	return order
}

// InLine compares the places of two claimants in that order.
func InLine(a, b *Stake) int {
	return cmp.Or(cmp.Compare(min(b.Weight, 1), min(a.Weight, 1)), cmp.Compare(a.Rank, b.Rank))
}

// FillGrains is fill in whole grains, which the stakes are in afterwards.
func (f *Filler) FillGrains(budget, grain int64, stakes []Stake, out []int64) {
	if grain > 1 {
		budget /= grain
		for i := range stakes {
			stakes[i].Lo, stakes[i].Hi = stakes[i].Lo/grain, stakes[i].Hi/grain
		}
	}
	f.Fill(budget, stakes, out)
	if grain > 1 {
		for i := range out {
			out[i] *= grain
		}
	}
}
