package round

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// Input is what a round steers by, beside the ledger. Nothing writes into it.
type Input struct {
	// ID is the UID of the budget. Together with the UIDs of children it decides ties.
	ID string
	// Split says how the budget is split.
	Split Split
	// Bounded says of which names the budget would hold more, but for the pool above (BoundPool) or what nodes can run
	// (BoundCapacity).
	Bounded map[corev1.ResourceName]Bound
	// Expected are the children of which it will soon be known whether they hold something, or how much. No limit moves
	// before.
	Expected []string
	// Uncounted says that a child may hold something of which the ledger does not know: nobody is raised.
	Uncounted bool
	// Children are those that take part, in the order in which they are raised. All that have an entry in the ledger are
	// among them; those that have none get nothing.
	Children []Standing
}

// Split is how a budget is split.
type Split struct {
	// Static says that weights, min and max alone decide, whatever is in use.
	Static bool
	// Grains are the steps in which limits come, by resource name; without one, any amount is a step.
	Grains amount.List
	// Options are those of the allocation where limits follow demand.
	Options allocate.Options
	// Respites are how long children that gave room away keep a part of the rest.
	Respites pace.RespiteTimes
}

// Terms are what the distribution gives a child. A name that Max does not have is not bounded. Weights, unless it is
// nil, takes the place of Weight; a name that it does not have counts as 0 there.
type Terms struct {
	Weight                       int64
	Weights                      amount.List
	Min, Lendable, Max, Headroom amount.List
}

// Override has amounts that a rule sets take the place of those that rules before it have set. An empty list sets
// nothing.
func (t *Terms) Override(least, lendable, most, headroom corev1.ResourceList) {
	for _, amounts := range []struct {
		of       *amount.List
		set      corev1.ResourceList
		rounding amount.Rounding
	}{
		{&t.Min, least, amount.Up}, {&t.Lendable, lendable, amount.Down},
		{&t.Max, most, amount.Down}, {&t.Headroom, headroom, amount.Up},
	} {
		if len(amounts.set) > 0 {
			*amounts.of = amount.Saturate(amounts.set, amounts.rounding)
		}
	}
}

// Shape is demand that comes in requests of one unit.
type Shape struct{ Amounts, Unit amount.List }

// Standing is how a child stands to the budget: what it may have, what it has said, and whether its limit can move.
type Standing struct {
	// Name is that of its entry in the ledger. UID decides ties.
	Name, UID string
	// Leaving says that it shall have nothing any more. It has no terms, then.
	Leaving bool
	Terms   Terms

	// Used is what it uses. A name that is missing is one of which that is not known: its limit stays.
	Used amount.List
	// Demand is what it could use beyond that, and Shapes split it by what one request asks for. Expected is what the next
	// request is expected to ask for.
	Demand   amount.List
	Shapes   []Shape
	Expected amount.List
	// Replacing is what it has given up to replace its own objects, which others are not given meanwhile.
	Replacing amount.List

	// CanRaise says that it follows a raise. Barred are names of which it is not raised now, since somebody else may come
	// to use the room.
	CanRaise bool
	Barred   sets.Set[corev1.ResourceName]
	// Pinned says that its limit can neither go up nor down now: where limits follow demand, it keeps what it was granted.
	Pinned bool
	// Room is what it has a place for beyond what it uses, by resource name. A name without it is not bounded so.
	Room amount.List
	// Full says that it has no place for more than it has or asks for: it gets no headroom.
	Full bool

	// Awaited is how long raises wait at most for it to say for the first time what it uses, by resource name.
	Awaited map[corev1.ResourceName]time.Duration
	// DampedFor is how long its limit must not move for headroom, since it was moved a moment ago.
	DampedFor time.Duration
	// Gave is how long ago its target went down last for what others need, by resource name, where it has not gone up
	// since.
	Gave map[corev1.ResourceName]time.Duration

	// Supposed are amounts that count as granted and as target, whatever the ledger says: see Wanted.
	Supposed amount.List
}

// counts says whether it is known what the child uses of name.
func (s *Standing) counts(name corev1.ResourceName) bool {
	_, known := s.Used[name]
	return known
}

// MovesIn says after which time the limit of a child may move although nothing new is said of it; 0 if it may not.
func (s *Standing) MovesIn(split *Split) time.Duration {
	if split.Static {
		return 0
	}
	soonest := s.DampedFor
	for name := range s.Gave {
		if left := split.respiteFor(s, name); left > 0 && (soonest <= 0 || left < soonest) {
			soonest = left
		}
	}
	return max(0, soonest)
}

// respiteFor returns how much longer a child keeps its respite.
func (s *Split) respiteFor(c *Standing, name corev1.ResourceName) time.Duration {
	ago, gave := c.Gave[name]
	if !gave {
		return 0
	}
	return max(0, s.Respites.Of(c.Demand[name])-ago)
}
