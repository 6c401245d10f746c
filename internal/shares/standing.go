package shares

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// steering is what the ledger is steered by, with children as they are or as they would be.
func (r *Round) steering(children []*child) *round.Input {
	in := &round.Input{
		ID: r.in.ID, Split: r.in.Split, Bounded: r.in.Bounded, Expected: r.unseen, Uncounted: r.uncounted,
	}
	for _, c := range children {
		in.Children = append(in.Children, r.standing(c))
	}
	return in
}

// standing returns how a child stands to the budget.
func (r *Round) standing(c *child) round.Standing {
	s := round.Standing{
		Name: c.Name, UID: c.UID, Leaving: !c.Selected, Terms: c.Terms,
		Used: c.report.Used, Demand: c.demand, Shapes: c.shapes, Expected: c.expected, Replacing: c.replacing,
		CanRaise: c.mobility() >= following, Pinned: c.mobility() < responsive,
		Room:      c.roomOnNodes(),
		Full:      c.said[quotav1alpha1.ConditionNodesFull].True,
		DampedFor: c.Past.DampedFor, Gave: c.Past.Gave,
	}
	if !c.takesOver {
		s.Barred = r.reserved
	}
	if len(c.unheard) > 0 {
		s.Awaited = make(map[corev1.ResourceName]time.Duration, len(c.unheard))
	}
	for _, name := range c.unheard {
		s.Awaited[name] = pace.FirstReportWait - c.Past.UnheardFor[name]
	}
	return s
}

// roomOnNodes returns what the nodes of a child have a place for beyond what is used. Pods that wait for a node take of
// it, and so do those that came to one since it was found out.
func (c *child) roomOnNodes() amount.List {
	room := amount.Sub(c.Room, c.unscheduled)
	if c.Past.Placed == nil {
		return room
	}
	return amount.Sub(room, amount.Sub(OnNodes(c.report.Used, c.unscheduled), c.Past.Placed))
}

// OnNodes returns what is used without what pods use that wait for a node.
func OnNodes(used, unscheduled amount.List) amount.List { return amount.Sub(used, unscheduled) }

// knowsGrowth says whether the share of a child tells of what its nodes can come to have, give or take a quarter of
// what may still come: a node that comes changes nothing of it.
func (c *child) knowsGrowth() bool {
	told := c.share.MostAllocatable
	if len(told) == 0 {
		told = c.Past.ToldMost
	}
	if len(told) != len(c.MostAllocatable) {
		return false
	}
	for name, most := range c.MostAllocatable {
		before, there := told[name]
		if !there || max(most-before, before-most) > c.Growth[name]/4 {
			return false
		}
	}
	return true
}

// waitsForNodes says whether it matters to a child what nodes may still come: pods of it wait for one.
func (c *child) waitsForNodes() bool {
	return c.said[quotav1alpha1.ConditionNodesFull].True || !c.unscheduled.IsZero()
}
