package allocate

// move sets targets: the present ones, changed as little as possible.
func (p *plan) move() {
	free := p.moveForNeed()
	p.moveForHeadroom(free)
	for i := range p.targets {
		p.targets[i] += p.surplus[i].Hi
	}
}

// moveForNeed brings everybody up to the need. It sets targets to what is kept without the surplus, and the surplus
// (what is held above the fair share) to what can be kept of it, and returns what is free then. Whoever is lifted finds
// the room, because the fair shares, of which none is below the need, fit into the budget together; unless usage alone
// does not, and then everybody's need is its usage and no surplus is kept.
func (p *plan) moveForNeed() (free int64) {
	var kept, surplus total
	for i := range p.claims {
		present := min(p.claims[i].Target, p.claims[i].Max)
		p.targets[i] = max(min(present, p.fair[i]), p.need[i])
		p.setSurplus(i, present-p.targets[i])
		kept.add(p.targets[i])
		surplus.add(p.surplus[i].Hi)
	}
	room := kept.minusFrom(p.budget)
	if surplus.exceeds(room) {
		p.keepSurplus(room, func(int) bool { return true })
		return 0
	}
	return room - int64(surplus)
}

// moveForHeadroom brings those who lack headroom up to their fair share, as far as there is something to take, and then
// refills the reserve of the hub. What is free beyond the reserve goes first.
func (p *plan) moveForHeadroom(free int64) {
	undamped := func(i int) bool { return !p.in.Members[i].Damped }
	var lack, surplus int64 // of members that are not damped; neither exceeds the budget
	for i := range p.claims {
		p.bounds[i].Lo, p.bounds[i].Hi = 0, 0
		if !undamped(i) {
			continue
		}
		surplus += p.surplus[i].Hi
		if missing := p.fair[i] - p.targets[i]; missing > p.targets[i]-p.need[i] {
			p.bounds[i].Hi = missing
			lack += missing
		}
	}
	spare := max(free-p.reserve, 0)
	lifted := min(lack, spare+surplus)
	p.filler.fill(lifted, p.bounds, p.parts)
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

// setSurplus says what the member i holds above its fair share.
func (p *plan) setSurplus(i int, surplus int64) {
	p.surplus[i].Weight = max(surplus, 0)
	p.surplus[i].Hi = max(surplus, 0)
}

// keepSurplus leaves those whom it may touch so much of their surplus together, in proportion to what they have.
func (p *plan) keepSurplus(together int64, may func(i int) bool) {
	for i := range p.surplus {
		p.surplus[i].Lo = 0
		if !may(i) {
			p.surplus[i].Lo = p.surplus[i].Hi
			together += p.surplus[i].Hi
		}
	}
	p.filler.fill(together, p.surplus, p.parts)
	for i := range p.surplus {
		p.surplus[i].Hi = p.parts[i]
	}
}
