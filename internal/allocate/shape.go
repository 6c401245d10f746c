package allocate

import "github.com/fedquota/fedquota/internal/amount"

// shape is a Shape as it counts: nothing below zero, and no more than the demand.
type shape struct {
	amounts, unit []int64
	count         int64 // of its requests
	served        int64 // how many of them
}

// shapes are the shapes of each child that is not pinned, nil if nobody has any.
func (in *Input) shapes() [][]shape {
	var count int
	for i := range in.Children {
		count += len(in.Children[i].Shapes)
	}
	if count == 0 {
		return nil
	}
	resources := len(in.Budgets)
	shapes, memory := make([][]shape, len(in.Children)), make([]int64, (2*count+1)*resources)
	left, memory := memory[:resources], memory[resources:]
	for i := range in.Children {
		m := &in.Children[i]
		if m.Pinned || len(m.Shapes) == 0 {
			continue
		}
		for r := range left {
			left[r] = max(m.Claims[r].Demand, 0)
		}
		shapes[i] = make([]shape, len(m.Shapes))
		for k := range m.Shapes {
			shapes[i][k], memory = m.Shapes[k].counted(left, memory)
		}
	}
	return shapes
}

// counted is a shape as it counts, which takes what it asks for off what is left of the demand, and the memory that it
// does not need.
func (of *Shape) counted(left, memory []int64) (shape, []int64) {
	resources := len(left)
	k := shape{amounts: memory[:resources], unit: memory[resources : 2*resources], count: 1}
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
func (k *shape) of(requests int64, r int) int64 {
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
func (k *shape) within(room int64, r int) int64 {
	switch {
	case room >= k.amounts[r]:
		return k.count
	case k.unit[r] == 0:
		return k.count - 1
	}
	return min(room/k.unit[r], k.count-1)
}

// serve serves as many further requests as the rooms hold, which it lessens, and says whether all are served.
func (k *shape) serve(rooms []int64) (done bool) {
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
