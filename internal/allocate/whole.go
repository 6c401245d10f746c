package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
)

// kind is a Kind as it counts: nothing below zero, and no more than the demand.
type kind struct {
	amounts, unit []int64
	count         int64 // of its requests
	served        int64 // how many of them
}

// kinds are the kinds of each member that is not pinned, nil if nobody has any.
func (in *Input) kinds() [][]kind {
	var all int
	for i := range in.Members {
		all += len(in.Members[i].Kinds)
	}
	if all == 0 {
		return nil
	}
	resources := len(in.Budgets)
	kinds, memory := make([][]kind, len(in.Members)), make([]int64, (2*all+1)*resources)
	left, memory := memory[:resources], memory[resources:]
	for i := range in.Members {
		m := &in.Members[i]
		if m.Pinned || len(m.Kinds) == 0 {
			continue
		}
		for r := range left {
			left[r] = max(m.Claims[r].Demand, 0)
		}
		kinds[i] = make([]kind, len(m.Kinds))
		for k := range m.Kinds {
			kinds[i][k], memory = m.Kinds[k].counted(left, memory)
		}
	}
	return kinds
}

// counted is a kind as it counts, which takes what it asks for off what is left of the demand, and the memory that it
// does not need.
func (of *Kind) counted(left, memory []int64) (kind, []int64) {
	resources := len(left)
	k := kind{amounts: memory[:resources], unit: memory[resources : 2*resources], count: 1}
	for r := range left {
		k.amounts[r] = min(max(of.Amounts[r], 0), left[r])
		left[r] -= k.amounts[r]
		if r < len(of.Unit) && of.Unit[r] > 0 && k.amounts[r] > 0 {
			k.unit[r] = min(of.Unit[r], k.amounts[r])
			k.count = max(k.count, (k.amounts[r]-1)/k.unit[r]+1)
		}
	}
	return k, memory[2*resources:]
}

// of is what so many requests ask for of a resource. The last one asks for all that is left of the amounts.
func (k *kind) of(requests int64, r int) int64 {
	switch {
	case requests >= k.count:
		return k.amounts[r]
	case k.unit[r] == 0:
		return 0
	case requests > k.amounts[r]/k.unit[r]:
		return k.amounts[r]
	}
	return requests * k.unit[r]
}

// within is how many requests a room of a resource holds.
func (k *kind) within(room int64, r int) int64 {
	switch {
	case room >= k.amounts[r]:
		return k.count
	case k.unit[r] == 0:
		return k.count - 1
	}
	return min(room/k.unit[r], k.count-1)
}

// askedInWhole is what the member i asks for of the resource: the requests that the other resources serve, one kind
// after the other. One of which they serve a part counts whole, as what others leave may serve the rest, unless all
// that is unused would not.
func (p *plan) askedInWhole(i int) (ask int64) {
	rooms := p.rooms
	for r := range p.plans {
		rooms[r] = p.plans[r].serves(i)
	}
	rooms[p.resource] = p.claims[i].room()
	kinds := p.kinds[i]
	for k := range kinds {
		kind := &kinds[k]
		requests := kind.count
		for r := range rooms {
			n := kind.within(rooms[r], r)
			if n < requests && r != p.resource && p.plans[r].lacks(i) && kind.unit[r] <= p.plans[r].unused && kind.of(n, r) < rooms[r] {
				n++
			}
			requests = min(requests, n)
		}
		for r := range rooms {
			rooms[r] = max(rooms[r]-kind.of(requests, r), 0)
		}
		ask = amount.Add(ask, kind.of(requests, p.resource))
	}
	return ask
}

// serveWhole takes from each what does not serve a whole request in all resources, and serves further requests out of
// what that leaves, of one member after the other, in an order that stays the same; those of weight zero come last.
func (a *auto) serveWhole() {
	if a.kinds == nil {
		return
	}
	left := make([]int64, len(a.plans))
	short := make([]int, 0, len(a.in.Members))
	for i := range a.in.Members {
		if a.kinds[i] == nil || !a.serve(i, left) {
			short = append(short, i)
		}
	}
	for r := range a.plans {
		left[r] = a.plans[r].slack()
	}
	slices.SortFunc(short, func(i, j int) int { return inLine(&a.bounds[i], &a.bounds[j]) })
	for _, i := range short {
		if a.kinds[i] == nil {
			a.topUp(i, left)
		} else if !a.serve(i, left) {
			a.forgo(i)
		}
	}
}

// topUp gives the member i, to whom any part of what it asks for is of use, what is left.
func (a *auto) topUp(i int, left []int64) {
	for r := range a.plans {
		p := &a.plans[r]
		more := min(max(fullNeed(&p.claims[i], p.asks[i])-p.need[i], 0), left[r])
		p.need[i] += more
		left[r] -= more
	}
}

// serve serves the member i, kind after kind, as many further requests as fit into what it needs and what is left, and
// makes that its need. It says whether all are served, and leaves in rooms what would hold no other request.
func (a *auto) serve(i int, left []int64) (all bool) {
	rooms, kinds := a.rooms, a.kinds[i]
	for r := range a.plans {
		p := &a.plans[r]
		rooms[r] = min(amount.Add(p.need[i], left[r])-p.claims[i].Used, p.claims[i].room()) - a.served(i, r)
	}
	all = true
	for k := range kinds {
		all = kinds[k].serve(rooms) && all
	}
	for r := range a.plans {
		p := &a.plans[r]
		need := max(p.floor[i], p.claims[i].Used+a.served(i, r))
		left[r] -= max(need-p.need[i], 0)
		p.need[i] = need
	}
	return all
}

// serve serves as many further requests as the rooms hold, which it lessens, and says whether all are served.
func (k *kind) serve(rooms []int64) (all bool) {
	requests := k.count
	for r := range rooms {
		requests = min(requests, k.within(amount.Add(rooms[r], k.of(k.served, r)), r))
	}
	for r := range rooms {
		rooms[r] -= k.of(requests, r) - k.of(k.served, r)
	}
	k.served = requests
	return k.served == k.count
}

// served is what the requests of the member i that are served ask for of a resource.
func (a *auto) served(i, r int) (sum int64) {
	for k := range a.kinds[i] {
		sum += a.kinds[i][k].of(a.kinds[i][k].served, r)
	}
	return sum
}

// forgo makes the member i ask for no more than is served of those resources that would hold another request of any
// kind.
func (a *auto) forgo(i int) {
	for r := range a.plans {
		lacks := func(k kind) bool { return k.of(k.served+1, r)-k.of(k.served, r) > a.rooms[r] }
		if !slices.ContainsFunc(a.kinds[i], lacks) {
			a.plans[r].asks[i] = a.served(i, r)
		}
	}
}
