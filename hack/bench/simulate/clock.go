package simulate

import "time"

// clock runs events in the order of their time, and those of one time in the order in which they were scheduled.
type clock struct {
	now       time.Duration
	scheduled uint64
	heap      []event
}

type event struct {
	at  time.Duration
	seq uint64
	run func()
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}

// at schedules an event; one in the past runs now.
func (c *clock) at(at time.Duration, run func()) {
	c.scheduled++
	c.heap = append(c.heap, event{at: max(at, c.now), seq: c.scheduled, run: run})
	for i := len(c.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !c.heap[i].before(&c.heap[parent]) {
			return
		}
		c.heap[i], c.heap[parent] = c.heap[parent], c.heap[i]
		i = parent
	}
}

// after schedules an event in a while.
func (c *clock) after(wait time.Duration, run func()) { c.at(c.now+wait, run) }

// runUntil runs all events up to and with the end.
func (c *clock) runUntil(end time.Duration) {
	for len(c.heap) > 0 && c.heap[0].at <= end {
		next := c.heap[0]
		c.pop()
		c.now = next.at
		next.run()
	}
	c.now = end
}

// pop removes the first event.
func (c *clock) pop() {
	last := len(c.heap) - 1
	c.heap[0] = c.heap[last]
	c.heap[last] = event{}
	c.heap = c.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return
		}
		if right := child + 1; right < last && c.heap[right].before(&c.heap[child]) {
			child = right
		}
		if !c.heap[child].before(&c.heap[i]) {
			return
		}
		c.heap[i], c.heap[child] = c.heap[child], c.heap[i]
		i = child
	}
}
