package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

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
	slices.SortFunc(short, func(i, j int) int { return apportion.InLine(&a.bounds[i], &a.bounds[j]) })
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
func (a *auto) serve(i int, left []int64) (done bool) {
	rooms, kinds := a.rooms, a.kinds[i]
	for r := range a.plans {
		p := &a.plans[r]
		rooms[r] = min(amount.Add(p.need[i], left[r])-p.claims[i].Used, p.claims[i].room()) - a.served(i, r)
	}
	done = true
	for k := range kinds {
		done = kinds[k].serve(rooms) && done
	}
	for r := range a.plans {
		p := &a.plans[r]
		need := max(p.floor[i], p.claims[i].Used+a.served(i, r))
		left[r] -= max(need-p.need[i], 0)
		p.need[i] = need
	}
	return done
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
