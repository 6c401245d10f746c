package allocate

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// anyAuto draws an input with everything that Auto looks at.
func anyAuto(t *rapid.T, resources int) (Input, Options) {
	in := anyInput(t, resources)
	if rapid.Bool().Draw(t, "grains") {
		for range resources {
			in.Grains = append(in.Grains, rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "grain"))
		}
	}
	for i := range in.Children {
		m := &in.Children[i]
		m.Damped = rapid.IntRange(0, 3).Draw(t, "damped") == 3
		for r := range m.Claims {
			c := &m.Claims[r]
			c.Target = rapid.OneOf(rapid.Just(c.Granted), rapid.Int64Range(0, c.Granted)).Draw(t, "target")
			c.Expected = rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "expected")
			c.Lendable = rapid.OneOf(rapid.Just(c.Min), rapid.Int64Range(0, c.Min)).Draw(t, "lendable")
			c.Headroom = rapid.OneOf(rapid.Just[int64](0), amounts()).Draw(t, "assured headroom")
		}
		if resources > 1 {
			m.splitDemand(t)
		}
	}
	percents := rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 100))
	return in, Options{
		HeadroomPercent: percents.Draw(t, "headroom"),
		ReservePercent:  percents.Draw(t, "reserve"),
	}
}

// splitDemand draws shapes that have all of the demand, or none.
func (m *Child) splitDemand(t *rapid.T) {
	if !rapid.Bool().Draw(t, "shapes") {
		return
	}
	unit := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, math.MaxInt64))
	var first, second Shape
	for _, c := range m.Claims {
		part := rapid.OneOf(rapid.Just[int64](0), rapid.Just(c.Demand), rapid.Int64Range(0, c.Demand)).Draw(t, "of the first shape")
		first.Amounts, second.Amounts = append(first.Amounts, part), append(second.Amounts, c.Demand-part)
		first.Unit, second.Unit = append(first.Unit, unit.Draw(t, "unit")), append(second.Unit, unit.Draw(t, "unit"))
	}
	m.Shapes = []Shape{first, second}
}

// asked is what the max of the child i holds of what it asks for, in whole units.
func (in Input) asked(i int) int64 {
	c := in.Children[i].Claims[0].normalized()
	if c.room() >= c.Demand {
		return c.Demand
	}
	return c.room() - c.room()%in.unit(i)
}

// upTo is what the child i is entitled to up to and with the layer of that reason, if the budget holds it.
func (in Input) upTo(i int, reason Reason) int64 {
	var floor int64
	if in.Children[i].Pinned {
		return 0
	}
	c := in.Children[i].Claims[0].normalized()
	if !in.servesNext()[i] {
		c.Expected = 0
	}
	for _, l := range needLayers {
		floor = max(floor, l.level(&c, in.asked(i)))
		if l.reason == reason {
			break
		}
	}
	return floor
}

// servesNext says of each child whether its next request is served: within its fair part, as a whole, one after the
// other.
func (in Input) servesNext() []bool {
	left, ranks := in.open(0), in.ranks()
	order, before, serves := make([]int, len(ranks)), make([]int64, len(ranks)), make([]bool, len(ranks))
	for i, m := range in.Children {
		order[ranks[i]] = i
		if c := m.Claims[0].normalized(); !m.Pinned {
			before[i] = max(c.Used, c.Min-c.Lendable, min(c.Min, amount.Add(c.Used, c.Demand)), min(c.Max, c.Respite))
			left = max(left-before[i], 0)
		}
	}
	for _, weighted := range []bool{true, false} {
		for _, i := range order {
			m := &in.Children[i]
			c := m.Claims[0].normalized()
			next := amount.Add(c.Used, c.Expected)
			if more := max(next-before[i], 0); m.Weight > 0 == weighted && !m.Pinned && next <= in.fairPart(i) && more <= left {
				serves[i], left = true, left-more
			}
		}
	}
	return serves
}

// fairPart is the weighted max-min of the child i of what all use, ask for and are expected to ask for next.
func (in Input) fairPart(i int) int64 {
	ranks, bounds := in.ranks(), make([]apportion.Stake, len(in.Children))
	for j, m := range in.Children {
		if c := m.Claims[0].normalized(); !m.Pinned {
			bounds[j] = apportion.Stake{Weight: m.Weight, Hi: min(c.Max, amount.Add(c.Used, max(c.Demand, c.Expected))), Rank: ranks[j]}
		}
	}
	return apportion.Fill(in.open(0), bounds)[i]
}

// ceiling is the highest target that the child i may have.
func (in Input) ceiling(i, resource int) int64 {
	c := in.Children[i].Claims[resource].normalized()
	return max(c.Max, c.Used)
}

// usedSum is what the children that are not pinned use of a resource.
func (in Input) usedSum(resource int) *big.Int {
	return in.sum(func(i int) int64 {
		if in.Children[i].Pinned {
			return 0
		}
		return in.Children[i].Claims[resource].Used
	})
}

// told is the input after the children were told the targets of a result.
func (in Input) told(result Result) Input {
	out := in.clone()
	for i := range out.Children {
		for r := range out.Children[i].Claims {
			if !out.Children[i].Pinned {
				out.Children[i].Claims[r].Target = result.Verdicts[i][r].Target
			}
		}
	}
	return out
}

func TestAutoConservesWithinBounds(t *testing.T) { rapid.Check(t, autoConservesWithinBounds) }

func FuzzAuto(f *testing.F) { f.Fuzz(rapid.MakeFuzz(autoConservesWithinBounds)) }

func autoConservesWithinBounds(t *rapid.T) {
	in, options := anyAuto(t, 3)
	v := Auto(in, options).Verdicts
	for r, budget := range in.Budgets {
		sum := in.sum(func(i int) int64 { return v[i][r].Target })
		usage := new(big.Int).Add(in.usedSum(r), in.pinnedSum(r))
		if bound := larger(big.NewInt(budget), usage); sum.Cmp(bound) > 0 {
			t.Fatalf("resource %d: the sum is %d, more than %d", r, sum, bound)
		}
		fair := in.sum(func(i int) int64 { return v[i][r].Fair })
		if bound := larger(big.NewInt(budget), usage); fair.Cmp(bound) > 0 {
			t.Fatalf("resource %d: the fair sum is %d, more than %d", r, fair, bound)
		}
		for i, m := range in.Children {
			x, c := v[i][r].Target, m.Claims[r]
			if x < c.Used || !m.Pinned && x > in.ceiling(i, r) || m.Pinned && x != c.held() {
				t.Fatalf("child %d, resource %d is at %d", i, r, x)
			}
		}
	}
}

func TestAutoDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		before := Auto(in, options).Verdicts
		moved, places := in.shuffled(rapid.Int64().Draw(t, "order"))
		after := Auto(moved, options).Verdicts
		for i, place := range places {
			if diff := cmp.Diff(before[i], after[place]); diff != "" {
				t.Fatalf("child %d in another order:\n%s", i, diff)
			}
		}
	})
}

func TestAutoIsAtRestAfterOneStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		first := Auto(in, options)
		for i, row := range Auto(in.told(first), options).Verdicts {
			for r, v := range row {
				if v.Target != first.Verdicts[i][r].Target || v.Fair != first.Verdicts[i][r].Fair {
					t.Fatalf("child %d, resource %d: %v, then %v", i, r, first.Verdicts[i][r], v)
				}
			}
		}
	})
}

// TestAutoMovesTowardsFair checks that nobody is pushed beyond the fair share from either side, but for a part of a
// grain that is taken off.
func TestAutoMovesTowardsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		for i, row := range Auto(in, options).Verdicts {
			for r, v := range row {
				present := apportion.Whole(min(in.Children[i].Claims[r].Target, in.ceiling(i, r)), in.grain(r))
				if in.Children[i].Pinned {
					continue
				}
				if v.Target < min(present, v.Fair) || v.Target > max(present, v.Fair) {
					t.Fatalf("child %d, resource %d: from %d to %v", i, r, present, v)
				}
			}
		}
	})
}

func TestAutoNeverPunishesDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 1)
		before := Auto(in, options).Verdicts
		i := rapid.IntRange(0, len(in.Children)-1).Draw(t, "child")
		c := &in.Children[i].Claims[0]
		c.Demand += rapid.OneOf(
			rapid.Int64Range(0, min(20, math.MaxInt64-c.Demand)),
			rapid.Int64Range(0, math.MaxInt64-c.Demand),
		).Draw(t, "more")
		after := Auto(in, options).Verdicts
		if after[i][0].Target < before[i][0].Target || after[i][0].Fair < before[i][0].Fair {
			t.Fatalf("with more demand, %d goes from %v to %v", i, before[i][0], after[i][0])
		}
	})
}

func TestAutoFairIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 1)
		in.Grains = nil // which of several children comes to a whole grain out of little is as with parcels in a box
		for i := range in.Children {
			in.Children[i].Claims[0].Expected = 0 // a whole one, too
		}
		before := Auto(in, options).Verdicts

		more := in.clone()
		more.Budgets[0] += rapid.OneOf(
			rapid.Int64Range(0, min(20, math.MaxInt64-in.Budgets[0])),
			rapid.Int64Range(0, math.MaxInt64-in.Budgets[0]),
		).Draw(t, "more")
		for i, row := range Auto(more, options).Verdicts {
			if row[0].Fair < before[i][0].Fair {
				t.Fatalf("budget %d lowers %d from %v to %v", more.Budgets[0], i, before[i], row)
			}
		}

		heavy := rapid.IntRange(0, len(in.Children)-1).Draw(t, "heavy")
		heavier := in.clone()
		heavier.Children[heavy].Weight += rapid.Int64Range(1, 1e6).Draw(t, "heavier")
		for i, row := range Auto(heavier, options).Verdicts {
			if up := row[0].Fair - before[i][0].Fair; i == heavy && up < 0 || i != heavy && up > 0 {
				t.Fatalf("more weight for %d moves %d from %v to %v", heavy, i, before[i], row)
			}
		}

		for i, row := range Auto(in.without(heavy), options).Verdicts {
			old := i
			if i >= heavy {
				old++
			}
			if row[0].Fair < before[old][0].Fair {
				t.Fatalf("%d leaves, and %d goes from %v to %v", heavy, old, before[old], row)
			}
		}
	})
}

func TestAutoIsWorkConserving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 3)
		v := Auto(in, options).Verdicts
		for r, budget := range in.Budgets {
			sum := in.sum(func(i int) int64 { return v[i][r].Target })
			for i := range in.Children {
				if v[i][r].Reason == Short && in.Children[i].Shapes == nil && in.Children[i].Claims[r].Expected == 0 && sum.Cmp(big.NewInt(budget)) < 0 {
					t.Fatalf("%d is short of resource %d while only %d of %d is given", i, r, sum, budget)
				}
			}
		}
	})
}

// levelOf is (2x+1)/weight; without a weight it is beyond every level that a weighted child reaches.
func levelOf(weight, x int64) *big.Rat {
	seat := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(x), 1), big.NewInt(1))
	if weight <= 0 {
		seat.Add(seat, new(big.Int).Lsh(big.NewInt(1), 80))
	}
	return new(big.Rat).SetFrac(seat, big.NewInt(max(weight, 1)))
}

// TestAutoIsMaxMinFair checks the certificate: nobody is below its demand while another, above what goes before
// demand, has a larger weighted share, by more than one unit.
func TestAutoIsMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 1)
		v := Auto(in, options).Verdicts
		for i := range in.Children {
			x := v[i][0].Target
			if in.Children[i].Pinned || x >= in.upTo(i, Demand) {
				continue
			}
			if v[i][0].Reason != Short {
				t.Fatalf("%d is below its demand, but %v", i, v[i][0])
			}
			for j := range in.Children {
				y := v[j][0].Target
				if i == j || in.Children[j].Pinned || y <= in.upTo(j, Expected) {
					continue
				}
				if levelOf(in.Children[j].Weight, y-1).Cmp(levelOf(in.Children[i].Weight, x)) > 0 {
					t.Fatalf("%d lacks demand at %d, while %d has %d", i, x, j, y)
				}
			}
		}
	})
}

// TestAutoKeepsStill changes usage and demand a little after a round, and checks that everything stays unless somebody
// lacks something.
func TestAutoKeepsStill(t *testing.T) {
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		in, options := anyAuto(t, 1)
		for i := range in.Children {
			c := &in.Children[i].Claims[0]
			c.Used, c.Demand, c.Min, c.Respite, c.Expected = c.Used%20, c.Demand%20, c.Min%20, c.Respite%20, c.Expected%20
			in.Children[i].Pinned = in.Children[i].Pinned && c.Granted < 20
		}
		in.Budgets[0] = max(in.Budgets[0], 100)
		in = in.told(Auto(in, options))
		for i := range in.Children {
			c := &in.Children[i].Claims[0]
			c.Used = max(0, c.Used-rapid.Int64Range(0, 5).Draw(t, "less used"))
			c.Demand = max(0, c.Demand-rapid.Int64Range(0, 5).Draw(t, "less demand"))
		}
		after := Auto(in, options).Verdicts
		if in.lacksSomething(after, options) {
			return
		}
		kept++
		for i, m := range in.Children {
			if !m.Pinned && after[i][0].Target != m.Claims[0].Target {
				t.Fatalf("nobody lacks anything, and %d moves from %d to %v", i, m.Claims[0].Target, after[i][0])
			}
		}
	})
	if kept < 20 {
		t.Errorf("only %d inputs in which nobody lacks anything", kept)
	}
}

// lacksSomething says whether there is a reason to move: a child below its need or, if it is not damped, nearer to it
// than to its fair share or without the headroom that its claim asks for; one above its max, or with a part of a grain;
// the budget overspent; or less than half of its reserve at the hub.
func (in Input) lacksSomething(verdicts [][]Verdict, options Options) bool {
	free := new(big.Int).Sub(big.NewInt(in.Budgets[0]), in.pinnedSum(0))
	slack := new(big.Int).Set(free)
	for i, m := range in.Children {
		c, need, fair := m.Claims[0], in.upTo(i, Demand), verdicts[i][0].Fair
		if m.Pinned {
			continue
		}
		if c.Target < need || c.Target > in.ceiling(i, 0) || c.Target%in.grain(0) != 0 || !m.Damped && fair-c.Target > c.Target-need {
			return true
		}
		if !m.Damped && fair > c.Target && c.Headroom > c.Target-need {
			return true
		}
		free.Sub(free, big.NewInt(c.Target))
		slack.Sub(slack, big.NewInt(need))
	}
	reserve := slack.Mul(slack, big.NewInt(options.ReservePercent))
	reserve.Div(reserve, big.NewInt(100))
	return free.Sign() < 0 || free.Lsh(free, 1).Cmp(reserve) < 0
}
