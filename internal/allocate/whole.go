package allocate

import (
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
)

// askedInWhole is what the child i asks for of the resource: the requests that the other resources serve, one shape
// after the other. One of which they serve a part counts whole, as what others leave may serve the rest, unless all
// that is unused would not.
func (p *plan) askedInWhole(i int) (ask int64) {
	rooms := p.rooms
	for r := range p.plans {
		rooms[r] = p.plans[r].serves(i)
	}
	rooms[p.resource] = p.claims[i].room()
	shapes := p.shapes[i]
	for k := range shapes {
		shape := &shapes[k]
		requests := shape.count
		for r := range rooms {
			n := shape.within(rooms[r], r)
			if n < requests && r != p.resource && p.plans[r].lacks(i) && shape.unit[r] <= p.plans[r].unused &&
				shape.of(n, r) < rooms[r] {
				n++
			}
			requests = min(requests, n)
		}
		for r := range rooms {
			rooms[r] = max(rooms[r]-shape.of(requests, r), 0)
		}
		ask = amount.Add(ask, shape.of(requests, p.resource))
	}
	return ask
}

// serveWhole takes from each what does not serve a whole request in all resources, and serves further requests out of
// what that leaves, of one child after the other, in an order that stays the same; those of weight zero come last.
func (a *auto) serveWhole() {
	if a.shapes == nil {
		return
	}
	left := make([]int64, len(a.plans))
	short := make([]int, 0, len(a.in.Children))
	for i := range a.in.Children {
		if a.shapes[i] == nil || !a.serve(i, left) {
			short = append(short, i)
		}
	}
	for r := range a.plans {
		left[r] = a.plans[r].slack()
	}
	slices.SortFunc(short, func(i, j int) int { return apportion.InLine(&a.line[i], &a.line[j]) })
	for _, i := range short {
		if a.shapes[i] == nil {
			a.topUp(i, left)
		} else if !a.serve(i, left) {
			a.forgo(i)
		}
	}
}

// topUp gives the child i, to whom any part of what it asks for is of use, what is left.
func (a *auto) topUp(i int, left []int64) {
	for r := range a.plans {
		p := &a.plans[r]
		more := min(max(fullNeed(&p.claims[i], p.asks[i])-p.need[i], 0), left[r])
		p.need[i] += more
		left[r] -= more
	}
}

// serve serves the child i, shape after shape, as many further requests as fit into what it needs and what is left, and
// makes that its need. It says whether all are served, and leaves in rooms what would hold no other request.
func (a *auto) serve(i int, left []int64) (done bool) {
	rooms, shapes := a.rooms, a.shapes[i]
	for r := range a.plans {
		p := &a.plans[r]
		rooms[r] = min(amount.Add(p.need[i], left[r])-p.claims[i].Used, p.claims[i].room()) - a.served(i, r)
	}
	done = true
	for k := range shapes {
		done = shapes[k].serve(rooms) && done
	}
	for r := range a.plans {
		p := &a.plans[r]
		need := max(p.floor[i], p.claims[i].Used+a.served(i, r))
		left[r] -= max(need-p.need[i], 0)
		p.need[i] = need
	}
	return done
}

// served is what the requests of the child i that are served ask for of a resource.
func (a *auto) served(i, r int) (sum int64) {
	for k := range a.shapes[i] {
		sum += a.shapes[i][k].of(a.shapes[i][k].served, r)
	}
	return sum
}

// forgo makes the child i ask for no more than is served of those resources that would hold another request of any
// shape.
func (a *auto) forgo(i int) {
	for r := range a.plans {
		lacks := func(k shape) bool { return k.of(k.served+1, r)-k.of(k.served, r) > a.rooms[r] }
		if !slices.ContainsFunc(a.shapes[i], lacks) {
			a.plans[r].asks[i] = a.served(i, r)
		}
	}
}
