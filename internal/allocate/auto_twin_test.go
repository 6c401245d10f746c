package allocate

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/apportion"
)

// TestAutoFairAgreesWithSlowTwin lays the layers unit by unit.
func TestAutoFairAgreesWithSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Quota: "q", Budgets: []int64{rapid.Int64Range(0, 120).Draw(t, "budget")}}
		small := rapid.Int64Range(0, 30)
		for i := range rapid.IntRange(1, 5).Draw(t, "children") {
			c := Claim{
				Min:      small.Draw(t, "min"),
				Lendable: small.Draw(t, "lendable"),
				Max:      rapid.OneOf(small, rapid.Just[int64](60)).Draw(t, "max"),
				Used:     small.Draw(t, "used"),
				Headroom: rapid.OneOf(rapid.Just[int64](0), small).Draw(t, "assured headroom"),
				Respite:  small.Draw(t, "respite"),
				Demand:   small.Draw(t, "demand"),
				Expected: rapid.OneOf(rapid.Just[int64](0), small).Draw(t, "expected"),
			}
			in.Children = append(in.Children, Child{
				ID:     string(rune('a' + i)),
				Weight: rapid.Int64Range(0, 5).Draw(t, "weight"),
				Claims: []Claim{c},
				Shapes: inUnits(c, rapid.Int64Range(0, 12).Draw(t, "unit")),
			})
		}
		options := Options{
			HeadroomPercent: rapid.Int64Range(0, 50).Draw(t, "headroom"),
			ReservePercent:  rapid.Int64Range(0, 100).Draw(t, "reserve"),
		}
		want := slowFair(in, options)
		for i, row := range Auto(in, options).Verdicts {
			if row[0].Fair != want[i] {
				t.Fatalf("fair share of %d is %d, want %d of %v", i, row[0].Fair, want[i], want)
			}
		}
	})
}

// slowFair is the fair share of one resource in small numbers.
func slowFair(in Input, options Options) []int64 {
	ranks := in.ranks()
	var need []int64
	for _, reason := range []Reason{Usage, Guaranteed, Reclaim, Respite, Expected, Demand} {
		bounds := make([]apportion.Stake, len(in.Children))
		for i, m := range in.Children {
			bounds[i] = apportion.Stake{Weight: m.Weight, Hi: in.upTo(i, reason), Rank: ranks[i]}
			bounds[i].Lo = in.upTo(i, Usage)
			if need != nil {
				bounds[i].Lo = need[i]
			}
		}
		need = apportion.Fill(in.Budgets[0], bounds)
		if reason == Demand {
			in.slowUnits(need, bounds)
		}
	}
	slack := in.Budgets[0]
	for _, x := range need {
		slack = max(slack-x, 0)
	}
	extra := make([]int64, len(need))
	more := func(budget int64, upTo func(i int, m *Child) int64) {
		bounds := make([]apportion.Stake, len(in.Children))
		for i := range in.Children {
			m := &in.Children[i]
			hi := min(upTo(i, m), max(m.Claims[0].Max, m.Claims[0].Min))
			bounds[i] = apportion.Stake{Weight: m.Weight, Lo: extra[i], Hi: hi - need[i], Rank: ranks[i]}
		}
		extra = apportion.Fill(budget, bounds)
	}
	more(slack, func(i int, m *Child) int64 { return need[i] + m.Claims[0].Headroom })
	open := slack
	for _, assured := range extra {
		open -= assured
	}
	slack -= open * options.ReservePercent / 100
	more(slack, func(i int, m *Child) int64 {
		return ((m.Claims[0].Used+in.asked(i))*(100+options.HeadroomPercent) + 99) / 100
	})
	more(slack, func(int, *Child) int64 { return Unlimited })
	for i := range extra {
		extra[i] += need[i]
	}
	return extra
}

// unit is what one request of the child i asks for.
func (in Input) unit(i int) int64 {
	if shapes := in.Children[i].Shapes; len(shapes) > 0 {
		return shapes[0].Unit[0]
	}
	return 1
}

// slowUnits takes what serves nobody from those who lack something, and hands units of it out one by one.
func (in Input) slowUnits(need []int64, bounds []apportion.Stake) {
	order := make([]int, len(need))
	left := int64(0)
	for i := range need {
		order[in.ranks()[i]] = i
		unit := in.unit(i)
		for need[i] < bounds[i].Hi && need[i] > bounds[i].Lo && (need[i]-in.Children[i].Claims[0].Used)%unit != 0 {
			need[i], left = need[i]-1, left+1
		}
	}
	for _, weighted := range []bool{true, false} {
		for _, i := range order {
			unit := in.unit(i)
			for weighted == (bounds[i].Weight > 0) && need[i] < bounds[i].Hi {
				next := need[i] + 1
				for next < bounds[i].Hi && (next-in.Children[i].Claims[0].Used)%unit != 0 {
					next++
				}
				if next-need[i] > left {
					break
				}
				need[i], left = next, left-(next-need[i])
			}
		}
	}
}
