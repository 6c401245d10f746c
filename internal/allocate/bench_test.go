package allocate

import (
	"fmt"
	"math/rand"
	"testing"
)

// fleet is a busy fleet of n children and r resources: a third asks for more than it has, and load is what is used and
// asked for, in percent of the budget. One resource is in bytes, the others in small units.
func fleet(n, r int, load int64) Input {
	random := rand.New(rand.NewSource(1))
	in := Input{Quota: "quota", Budgets: make([]int64, r)}
	for i := range n {
		m := Child{ID: fmt.Sprint("cluster-", i), Weight: 1 + random.Int63n(1e6)}
		shape := 1 + random.Int63n(50)
		for k := range r {
			unit := int64(1000)
			if k == 1 {
				unit = 1 << 30
			}
			used := random.Int63n(400 * unit)
			c := Claim{
				Max:     Unlimited,
				Used:    used,
				Respite: used + random.Int63n(unit),
			}
			if i%3 == 0 {
				c.Demand = shape * unit * (1 + random.Int63n(4))
			}
			if i%5 == 0 {
				c.Min, c.Lendable = 200*unit, 150*unit
			}
			if i%7 == 0 {
				c.Max = 450 * unit
			}
			c.Target = used + random.Int63n(100*unit)
			c.Granted = c.Target
			in.Budgets[k] += (c.Used + c.Demand) * 100 / load
			m.Claims = append(m.Claims, c)
		}
		in.Children = append(in.Children, m)
	}
	return in
}

func BenchmarkStatic1000x10(b *testing.B) {
	in := fleet(1000, 10, 85)
	b.ReportAllocs()
	for b.Loop() {
		Static(in)
	}
}

func BenchmarkAuto1000x10(b *testing.B) {
	for _, load := range []int64{50, 85, 95, 105, 120} {
		b.Run(fmt.Sprintf("load=%d", load), func(b *testing.B) {
			in := fleet(1000, 10, load)
			b.ReportAllocs()
			for b.Loop() {
				Auto(in, Options{HeadroomPercent: 10, ReservePercent: 25})
			}
		})
	}
}

func TestAllocationsDoNotGrowWithTheBudget(t *testing.T) {
	in := fleet(50, 3, 105)
	count := func(by int64) float64 {
		scaled := in.clone()
		for r := range scaled.Budgets {
			scaled.Budgets[r] *= by
			for i := range scaled.Children {
				c := &scaled.Children[i].Claims[r]
				c.Used, c.Demand, c.Target, c.Respite = c.Used*by, c.Demand*by, c.Target*by, c.Respite*by
			}
		}
		return testing.AllocsPerRun(10, func() { Auto(scaled, Options{ReservePercent: 25}) })
	}
	if small, large := count(1), count(10_000); large > small+3 {
		t.Errorf("%v allocations become %v with a budget 10,000 times as large", small, large)
	}
}
