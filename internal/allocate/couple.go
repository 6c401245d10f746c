package allocate

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// couplingRounds bounds the rounds of couple.
const couplingRounds = 4

// couple sets the need of every resource, so that no child is given what its pods cannot use because they lack another
// resource: where a child gets only a part of its demand, no more than that part is served in the other resources, and
// others can have the difference.
//
// One resource after the other is laid, each with what the others left of the demands. What that frees may serve a
// child better in one resource and make it ask for more in the next: this is followed for a few rounds. Two mostly do;
// a fleet in which every resource is short at once may go on for many, each for less.
func (a *auto) couple() {
	for r := range a.plans {
		a.plans[r].expectAll()
	}
	for round := range min(len(a.plans), couplingRounds) {
		settled := true
		for r := range a.plans {
			if changed := a.plans[r].trim(); changed || round == 0 {
				a.plans[r].layNeed()
				settled = false
			}
		}
		if settled {
			return
		}
	}
}

// expectAll makes the need that of a resource which serves everybody, before anything is known of it.
func (p *plan) expectAll() {
	for i := range p.claims {
		p.asks[i] = p.claims[i].Demand
		p.need[i] = amount.Add(p.claims[i].Used, p.asks[i])
	}
}

// trim sets what everybody asks for: the part of its demand that the other resources serve, as far as its max holds it.
// The budget of the resource itself does not limit the ask, so that a child gets more of it as soon as others leave it
// more.
func (p *plan) trim() (changed bool) {
	for i := range p.claims {
		c := &p.claims[i]
		if c.Demand == 0 {
			continue
		}
		var ask int64
		if len(p.in.Children[i].Shapes) > 0 {
			ask = p.askedInWhole(i)
		} else {
			ask = min(apportion.TimesUp(c.Demand, p.servedElsewhere(i)), c.room())
		}
		if ask != p.asks[i] {
			p.asks[i], changed = ask, true
		}
	}
	return changed
}

// servedElsewhere is the part of its demand that the child i gets of the tightest of the other resources.
func (p *plan) servedElsewhere(i int) apportion.Fraction {
	part := apportion.Fraction{Num: 1, Den: 1}
	for r := range p.plans {
		if r == p.resource {
			continue
		}
		other := &p.plans[r]
		if demand, served := other.claims[i].Demand, other.serves(i); served < demand {
			if of := (apportion.Fraction{Num: uint64(served), Den: uint64(demand)}); of.Compare(part) < 0 {
				part = of
			}
		}
	}
	return part
}
