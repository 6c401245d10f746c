package allocate

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyClaim draws a claim on every scale, often one that fits with the others.
func anyClaim() *rapid.Generator[Claim] {
	return rapid.Custom(func(t *rapid.T) Claim {
		small := rapid.Int64Range(0, 40)
		amount := rapid.OneOf(rapid.Just[int64](0), small, small, amounts())
		c := Claim{
			Min:     rapid.OneOf(rapid.Just[int64](0), amount).Draw(t, "min"),
			Max:     rapid.OneOf(rapid.Just[int64](Unlimited), amount).Draw(t, "max"),
			Used:    amount.Draw(t, "used"),
			Demand:  amount.Draw(t, "demand"),
			Granted: amount.Draw(t, "granted"),
		}
		c.Respite = rapid.OneOf(rapid.Just(c.Used), amount).Draw(t, "respite")
		return c
	})
}

// anyInput draws children with distinct IDs, some of them pinned.
func anyInput(t *rapid.T, resources int) Input {
	in := Input{Quota: rapid.StringMatching(`[a-z]{3}`).Draw(t, "quota")}
	for range resources {
		in.Budgets = append(in.Budgets, rapid.OneOf(rapid.Int64Range(0, 150), amounts()).Draw(t, "budget"))
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "children") {
		in.Children = append(in.Children, Child{
			ID:     fmt.Sprint(i),
			Weight: weights().Draw(t, "weight"),
			Pinned: rapid.IntRange(0, 5).Draw(t, "pinned") == 5,
			Claims: rapid.SliceOfN(anyClaim(), resources, resources).Draw(t, "claims"),
		})
	}
	return in
}

// clone copies the input, so that a test can change it.
func (in Input) clone() Input {
	out := Input{Quota: in.Quota, Budgets: append([]int64(nil), in.Budgets...), Grains: in.Grains}
	for _, m := range in.Children {
		m.Claims = append([]Claim(nil), m.Claims...)
		out.Children = append(out.Children, m)
	}
	return out
}

// without is the input without the child i.
func (in Input) without(i int) Input {
	out := in.clone()
	out.Children = append(out.Children[:i], out.Children[i+1:]...)
	return out
}

// shuffled returns the input with its children in another order, and where each child went.
func (in Input) shuffled(seed int64) (Input, []int) {
	out, places := in.clone(), rand.New(rand.NewSource(seed)).Perm(len(in.Children))
	for i, place := range places {
		out.Children[place] = in.Children[i]
	}
	return out, places
}

// sum adds up what keep says of every child, without limit.
func (in Input) sum(amount func(i int) int64) *big.Int {
	sum := new(big.Int)
	for i := range in.Children {
		sum.Add(sum, big.NewInt(amount(i)))
	}
	return sum
}

// pinnedSum is what the pinned children hold of a resource.
func (in Input) pinnedSum(resource int) *big.Int {
	return in.sum(func(i int) int64 {
		if !in.Children[i].Pinned {
			return 0
		}
		return in.Children[i].Claims[resource].held()
	})
}

// larger is the larger of two numbers.
func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func TestStaticConservesWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t, 1)
		v := Static(in).Verdicts
		sum := in.sum(func(i int) int64 { return v[i][0].Target })
		if bound := larger(big.NewInt(in.Budgets[0]), in.pinnedSum(0)); sum.Cmp(bound) > 0 {
			t.Fatalf("sum is %d, more than %d", sum, bound)
		}
		full, short, fed := true, false, false
		for i, m := range in.Children {
			x, c := v[i][0].Target, m.Claims[0]
			if x < 0 || !m.Pinned && x > max(c.Min, c.Max) || m.Pinned && x != c.held() {
				t.Fatalf("child %d is at %d", i, x)
			}
			full = full && (m.Pinned || x == max(c.Min, c.Max))
			short = short || !m.Pinned && x < c.Min
			fed = fed || !m.Pinned && x > c.Min
		}
		if sum.Cmp(big.NewInt(in.Budgets[0])) < 0 && !full {
			t.Fatalf("something is left, and somebody could have it: %v", v)
		}
		if short && fed {
			t.Fatalf("somebody is below min while another is above: %v", v)
		}
	})
}

func TestStaticDependsOnNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t, 2)
		before := Static(in).Verdicts
		moved, places := in.shuffled(rapid.Int64().Draw(t, "order"))
		for i := range moved.Children {
			for r := range moved.Children[i].Claims {
				c := &moved.Children[i].Claims[r]
				c.Respite, c.Demand = c.Respite/2, c.Demand/2
				if !moved.Children[i].Pinned {
					c.Used, c.Granted = c.Used/2, c.Granted/2
				}
			}
		}
		after := Static(moved).Verdicts
		for i, place := range places {
			if diff := cmp.Diff(before[i], after[place]); diff != "" {
				t.Fatalf("child %d in another order and with another usage:\n%s", i, diff)
			}
		}
	})
}

func TestStaticIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t, 1)
		before := Static(in).Verdicts

		more := in.clone()
		more.Budgets[0] += rapid.Int64Range(0, math.MaxInt64-in.Budgets[0]).Draw(t, "more")
		for i, row := range Static(more).Verdicts {
			if row[0].Target < before[i][0].Target {
				t.Fatalf("budget %d lowers %d from %v to %v", more.Budgets[0], i, before[i], row)
			}
		}

		heavy := rapid.IntRange(0, len(in.Children)-1).Draw(t, "heavy")
		heavier := in.clone()
		heavier.Children[heavy].Weight += rapid.Int64Range(1, 1e6).Draw(t, "heavier")
		for i, row := range Static(heavier).Verdicts {
			if up := row[0].Target - before[i][0].Target; i == heavy && up < 0 || i != heavy && up > 0 {
				t.Fatalf("more weight for %d moves %d from %v to %v", heavy, i, before[i], row)
			}
		}

		for i, row := range Static(in.without(heavy)).Verdicts {
			old := i
			if i >= heavy {
				old++
			}
			if row[0].Target < before[old][0].Target {
				t.Fatalf("%d leaves, and %d goes from %v to %v", heavy, old, before[old], row)
			}
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
