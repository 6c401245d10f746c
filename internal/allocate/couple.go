package allocate

import "github.com/fedquota/fedquota/internal/amount"

// couplingRounds bounds the rounds of couple.
const couplingRounds = 4

// couple sets the need of every resource, so that no member is given what its pods cannot use for want of another
// resource: where a member gets only a part of its demand, no more than that part is served in the other resources, and
// others can have the difference.
//
// One resource after the other is laid, each with what the others left of the demands. What that frees may serve a
// member better in one resource and make it ask for more in the next: this is followed for a few rounds. Two mostly do; a
// fleet in which every resource is short at once may go on for many, each for less.
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

// trim sets what everybody asks for: of each kind of its demand the part that the tightest of the other resources of that
// kind serves. The resource itself does not limit the ask, so that a member gets more of it as soon as others leave it more.
func (p *plan) trim() (changed bool) {
	for i := range p.claims {
		demand := p.claims[i].Demand
		if demand == 0 {
			continue
		}
		var ask int64
		if kinds := p.in.Members[i].Kinds; len(kinds) == 0 {
			ask = timesUp(demand, p.servedElsewhere(i, nil))
		} else {
			for _, kind := range kinds {
				if of := kind[p.resource]; of > 0 {
					ask = amount.Add(ask, timesUp(of, p.servedElsewhere(i, kind)))
				}
			}
		}
		if ask = min(ask, demand); ask != p.asks[i] {
			p.asks[i], changed = ask, true
		}
	}
	return changed
}

// servedElsewhere is the part of its demand that the member i gets of the tightest of the other resources that a kind asks for,
// of all of them if no kind is given.
func (p *plan) servedElsewhere(i int, kind []int64) fraction {
	part := fraction{1, 1}
	for r := range p.plans {
		if r == p.resource || kind != nil && kind[r] <= 0 {
			continue
		}
		if served := p.plans[r].servedPart(i); served.compare(part) < 0 {
			part = served
		}
	}
	return part
}

// servedPart is the part of its demand that the member i gets. It is 1 if the member gets all that it asks for, even if
// it asks for less than its demand: then another resource is tighter than this one.
func (p *plan) servedPart(i int) fraction {
	c := &p.claims[i]
	if p.need[i] >= amount.Add(c.Used, p.asks[i]) {
		return fraction{1, 1}
	}
	return fraction{num: uint64(p.need[i] - c.Used), den: uint64(c.Demand)}
}
