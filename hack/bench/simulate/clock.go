package simulate

import (
	"container/heap"
	"time"
)

// clock runs events in the order of their time, and those of one time in the order in which they were scheduled.
type clock struct {
	now       time.Duration
	scheduled uint64
	events    events
}

type event struct {
	at  time.Duration
	seq uint64
	run func()
}

// events are a heap, the next one first.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(one any) { *e = append(*e, one.(event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	one := (*e)[last]
	(*e)[last] = event{} // what it runs may hold on to much
	*e = (*e)[:last]
	return one
}

// at schedules an event; one in the past runs now.
func (c *clock) at(at time.Duration, run func()) {
	c.scheduled++
	heap.Push(&c.events, event{at: max(at, c.now), seq: c.scheduled, run: run})
}

// after schedules an event in a while.
func (c *clock) after(wait time.Duration, run func()) { c.at(c.now+wait, run) }

// runUntil runs all events up to and with the end.
func (c *clock) runUntil(end time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= end {
		next := heap.Pop(&c.events).(event)
		c.now = next.at
		next.run()
	}
	c.now = end
}
