package allocate

import (
	"cmp"
	"slices"

	"github.com/fedquota/fedquota/internal/apportion"
)

// move sets targets: the present ones, changed as little as possible.
func (p *plan) move() {
	free := p.moveForNeed()
	p.moveForHeadroom(free)
	for i := range p.targets {
		p.targets[i] += p.surplus[i]
	}
}

// moveForNeed brings everybody up to the need. It sets targets to what is kept without the surplus, and the surplus
// (what is held above the fair share) to what can be kept of it, and returns what is free then. Whoever is lifted finds
// the room, because the fair shares, of which none is below the need, fit into the budget together; unless usage alone
// does not, and then everybody's need is its usage and no surplus is kept.
func (p *plan) moveForNeed() (free int64) {
	var kept, surplus apportion.Total
	for i := range p.claims {
		present := apportion.Whole(min(p.claims[i].Target, p.claims[i].Max), p.grain)
		p.targets[i] = max(min(present, p.fair[i]), p.need[i])
		p.surplus[i] = max(present-p.targets[i], 0)
		p.needed = p.needed || p.need[i] > present
		kept.Add(p.targets[i])
		surplus.Add(p.surplus[i])
	}
	room := kept.MinusFrom(p.budget)
	if surplus.Exceeds(room) {
		p.needed = true
		p.keepSurplus(room, func(int) bool { return true })
		return 0
	}
	return room - int64(surplus)
}

// moveForHeadroom brings those who lack headroom up to their fair share, as far as there is something to take, and then
// refills the reserve of the hub. What is free beyond the reserve goes first.
func (p *plan) moveForHeadroom(free int64) {
	undamped := func(i int) bool { return !p.in.Children[i].Damped }
	var lack, surplus int64 // of children that are not damped; neither exceeds the budget
	for i := range p.claims {
		p.bounds[i].Lo, p.bounds[i].Hi = 0, 0
		if !undamped(i) {
			continue
		}
		surplus += p.surplus[i]
		missing, room := p.fair[i]-p.targets[i], p.targets[i]-p.need[i]
		if missing > room || p.assured[i] > room {
			p.bounds[i].Hi = missing
			lack += missing
		}
	}
	spare := max(free-p.reserve, 0)
	lifted := min(lack, spare+surplus)
	lifted = apportion.Whole(lifted, p.grain)
	p.filler.FillGrains(lifted, p.grain, p.bounds, p.parts)
	for i := range p.targets {
		p.targets[i] += p.parts[i]
	}
	taken := max(lifted-spare, 0)
	// What is taken out of the free above leaves the reserve whole, so that its lack is the same as before.
	if missing := p.reserve - free; missing > free {
		taken = min(taken+missing, surplus)
	}
	if taken > 0 {
		p.keepSurplus(surplus-taken, undamped)
	}
}

// keepSurplus leaves those whom it may touch so much of their surplus together. Who has the least keeps it, so that
// what is missing comes from the fewest: if everybody gave a part, one raise would move the whole fleet.
func (p *plan) keepSurplus(together int64, may func(i int) bool) {
	p.donors = p.donors[:0]
	for i := range p.surplus {
		if p.surplus[i] > 0 && may(i) {
			p.donors = append(p.donors, i)
		}
	}
	slices.SortFunc(p.donors, func(i, j int) int {
		return cmp.Or(cmp.Compare(p.surplus[i], p.surplus[j]), cmp.Compare(p.bounds[i].Rank, p.bounds[j].Rank))
	})
	for _, i := range p.donors {
		if p.surplus[i] > together { // of which no more than whole grains serve anybody
			p.surplus[i] = max(apportion.Whole(p.targets[i]+together, p.grain)-p.targets[i], 0)
		}
		together -= p.surplus[i]
	}
}
