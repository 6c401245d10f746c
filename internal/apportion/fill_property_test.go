package apportion

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// slowFill is Fill as its contract says it: unit by unit, with fractions of any size.
func slowFill(budget int64, stakes []Stake) []int64 {
	x := make([]int64, len(stakes))
	for i := range stakes {
		x[i] = max(stakes[i].Lo, 0)
		budget -= x[i]
	}
	for ; budget > 0; budget-- {
		var open []int
		for i := range stakes {
			if x[i] < stakes[i].Hi {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			return x
		}
		x[slices.MinFunc(open, func(i, j int) int {
			return cmp.Or(
				slowLevel(stakes[i].Weight, x[i]).Cmp(slowLevel(stakes[j].Weight, x[j])),
				cmp.Compare(stakes[i].Rank, stakes[j].Rank),
			)
		})]++
	}
	return x
}

// slowLevel is (2x+1)/weight; without a weight it is beyond every level that a weighted claimant reaches.
func slowLevel(weight, x int64) *big.Rat {
	seat := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(x), 1), big.NewInt(1))
	if weight <= 0 {
		seat.Add(seat, new(big.Int).Lsh(big.NewInt(1), 80))
	}
	return new(big.Rat).SetFrac(seat, big.NewInt(max(weight, 1)))
}

func TestFillAgreesWithSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.Int64Range(-1, 120).Draw(t, "budget")
		stakes := rapid.SliceOfN(smallStake(), 0, 7).Draw(t, "stakes")
		if diff := gocmp.Diff(slowFill(budget, stakes), Fill(budget, stakes)); diff != "" {
			t.Fatalf("Fill differs from its twin (-want +got):\n%s", diff)
		}
	})
}

// smallStake draws claimants with few units, equal and unequal weights, and ties in everything.
func smallStake() *rapid.Generator[Stake] {
	return rapid.Custom(func(t *rapid.T) Stake {
		weight := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(1, 50), rapid.Int64Range(1, 1e6))
		return Stake{
			Weight: weight.Draw(t, "weight"),
			Lo:     rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(-1, 30)).Draw(t, "lo"),
			Hi:     rapid.OneOf(rapid.Int64Range(-1, 60), rapid.Just[int64](math.MaxInt64)).Draw(t, "hi"),
			Rank:   rapid.Uint64Range(0, 2).Draw(t, "rank"),
		}
	})
}

// amounts draws from zero to the largest int64, and often something near a power of two, an edge or zero.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 20),
		rapid.Int64Range(0, 1e6),
		rapid.Int64Range(0, math.MaxInt64),
		rapid.Int64Range(math.MaxInt64-20, math.MaxInt64),
	)
}

// weights draws what users write, and now and then bytes.
func weights() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 3),
		rapid.Int64Range(1, 1e6),
		rapid.Int64Range(1, 1<<52),
	)
}

// anyStake draws claimants of every size. Ranks are distinct only by chance.
func anyStake() *rapid.Generator[Stake] {
	return rapid.Custom(func(t *rapid.T) Stake {
		return Stake{
			Weight: weights().Draw(t, "weight"),
			Lo:     rapid.OneOf(rapid.Just[int64](0), amounts()).Draw(t, "lo"),
			Hi:     rapid.OneOf(rapid.Just[int64](math.MaxInt64), amounts()).Draw(t, "hi"),
			Rank:   rapid.Uint64().Draw(t, "rank"),
		}
	})
}

// anyFill draws a budget that more often than not lies between the sum of lo and the sum of hi.
func anyFill(t *rapid.T) (int64, []Stake) {
	stakes := rapid.SliceOfN(anyStake(), 1, 12).Draw(t, "stakes")
	if rapid.Bool().Draw(t, "small lo") {
		for i := range stakes {
			stakes[i].Lo %= 1e6
		}
	}
	return amounts().Draw(t, "budget"), stakes
}

func TestFillConservesWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget, stakes := anyFill(t)
		lows, highs, sum := new(big.Int), new(big.Int), new(big.Int)
		for i, x := range Fill(budget, stakes) {
			lo, hi := stakes[i].limits()
			if x < lo || x > hi {
				t.Fatalf("x[%d] = %d is outside [%d, %d]", i, x, lo, hi)
			}
			lows.Add(lows, big.NewInt(lo))
			highs.Add(highs, big.NewInt(hi))
			sum.Add(sum, big.NewInt(x))
		}
		want := big.NewInt(budget)
		if lows.Cmp(want) > 0 {
			want = lows
		} else if highs.Cmp(want) < 0 {
			want = highs
		}
		if sum.Cmp(want) != 0 {
			t.Fatalf("sum is %d, want %d", sum, want)
		}
	})
}

// TestFillIsWebster checks the certificate of the apportionment in full size: the last seat that anybody holds above
// its lo comes before the next seat of everybody below its hi.
func TestFillIsWebster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget, stakes := anyFill(t)
		x := Fill(budget, stakes)
		for i := range stakes {
			for j := range stakes {
				lo, _ := stakes[i].limits()
				_, hi := stakes[j].limits()
				if i == j || x[i] == lo || x[j] == hi {
					continue
				}
				last, next := slowLevel(stakes[i].Weight, x[i]-1), slowLevel(stakes[j].Weight, x[j])
				if c := last.Cmp(next); c > 0 || c == 0 && stakes[i].Rank > stakes[j].Rank {
					t.Fatalf("%d holds %d and %d only %d", i, x[i], j, x[j])
				}
			}
		}
	})
}

func TestFillIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget, stakes := anyFill(t)
		before := Fill(budget, stakes)

		t.Logf("more budget lowers nobody")
		more := budget + rapid.Int64Range(0, math.MaxInt64-budget).Draw(t, "more")
		for i, x := range Fill(more, stakes) {
			if x < before[i] {
				t.Fatalf("budget %d to %d lowers %d from %d to %d", budget, more, i, before[i], x)
			}
		}

		t.Logf("a heavier claimant does not lose, and its bystanders do not win")
		heavy := rapid.IntRange(0, len(stakes)-1).Draw(t, "heavy")
		heavier := slices.Clone(stakes)
		heavier[heavy].Weight += rapid.Int64Range(1, 1<<50).Draw(t, "heavier")
		for i, x := range Fill(budget, heavier) {
			if i == heavy && x < before[i] || i != heavy && x > before[i] {
				t.Fatalf("weight %d to %d of %d moves %d from %d to %d",
					stakes[heavy].Weight, heavier[heavy].Weight, heavy, i, before[i], x)
			}
		}

		t.Logf("when a claimant leaves, nobody loses")
		leaver := rapid.IntRange(0, len(stakes)-1).Draw(t, "leaver")
		after := Fill(budget, slices.Delete(slices.Clone(stakes), leaver, leaver+1))
		for i, x := range after {
			if old := slices.Delete(slices.Clone(before), leaver, leaver+1)[i]; x < old {
				t.Fatalf("%d leaves and a bystander goes from %d to %d", leaver, old, x)
			}
		}
	})
}

// TestFillCorrectsFewUnits checks that the level is exact: then rounding misses the budget by half a unit per claimant at
// most, and the correction does not grow with the budget.
func TestFillCorrectsFewUnits(t *testing.T) {
	check := func(t rapid.TB, budget int64, stakes []Stake) {
		for i := range stakes {
			budget -= min(budget, max(stakes[i].Lo, 0))
		}
		var f Filler
		if room := f.open(stakes, true); budget == 0 || !room.Exceeds(budget) {
			return
		}
		missing := f.round(f.level(uint64(budget)), uint64(budget))
		if 2*max(missing, -missing) > int64(len(f.parts)) {
			t.Fatalf("%d units are to be corrected for %d claimants", missing, len(f.parts))
		}
	}
	t.Run("a heavy claimant with little room", func(t *testing.T) {
		check(t, 1110, []Stake{{Weight: 100, Lo: 1000, Hi: 1001}, {Weight: 1, Lo: 10, Hi: math.MaxInt64}})
	})
	t.Run("any", rapid.MakeCheck(func(t *rapid.T) {
		budget, stakes := anyFill(t)
		check(t, budget, stakes)
	}))
}

func FuzzFill(f *testing.F) {
	f.Add(int64(15), int64(1), int64(0), int64(9), int64(1), int64(0), int64(9), int64(1), int64(3), int64(9))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(0), int64(math.MaxInt64), int64(1), int64(1), int64(5),
		int64(0), int64(math.MinInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, budget, w0, lo0, hi0, w1, lo1, hi1, w2, lo2, hi2 int64) {
		stakes := []Stake{
			{Weight: w0, Lo: lo0, Hi: hi0},
			{Weight: w1, Lo: lo1, Hi: hi1, Rank: 1},
			{Weight: w2, Lo: lo2, Hi: hi2, Rank: 2},
		}
		lows, highs, sum := new(big.Int), new(big.Int), new(big.Int)
		for i, x := range Fill(budget, stakes) {
			lo, hi := stakes[i].limits()
			if x < lo || x > hi {
				t.Errorf("x[%d] = %d is outside [%d, %d]", i, x, lo, hi)
			}
			lows.Add(lows, big.NewInt(lo))
			highs.Add(highs, big.NewInt(hi))
			sum.Add(sum, big.NewInt(x))
		}
		want := big.NewInt(max(budget, 0))
		if lows.Cmp(want) > 0 {
			want = lows
		} else if highs.Cmp(want) < 0 {
			want = highs
		}
		if sum.Cmp(want) != 0 {
			t.Errorf("sum is %d, want %d", sum, want)
		}
	})
}
