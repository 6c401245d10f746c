package round

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Bound is what keeps a limit from being another one: without it, the limit would become another one, or could become
// it now. The set is closed. What keeps a limit from being lower is the reason of its verdict.
type Bound string

const (
	// BoundNone means that none of these binds: the reason of the verdict says all.
	BoundNone Bound = ""

	// BoundUnread means that another child was not read, and may hold anything.
	BoundUnread Bound = "Unread"
	// BoundUncounted means that it is not known what the child uses.
	BoundUncounted Bound = "Uncounted"
	// BoundNodes means that the nodes of the child are full: it gets no headroom.
	BoundNodes Bound = "Nodes"
	// BoundRoom means that it is known how much the nodes of the child still have a place for.
	BoundRoom Bound = "Room"
	// BoundMax means the max of the child.
	BoundMax Bound = "Max"
	// BoundDamping means that the limit was moved for headroom a moment ago.
	BoundDamping Bound = "Damping"
	// BoundReplacing means that other children keep room for objects that they replace.
	BoundReplacing Bound = "Replacing"
	// BoundStep means that limits come in steps, and no whole one is left for it.
	BoundStep Bound = "Step"
	// BoundBudget means that the budget does not hold what is needed.
	BoundBudget Bound = "Budget"
	// BoundPool means the same of a budget that the pool above bounds.
	BoundPool Bound = "Pool"
	// BoundCapacity means the same of a budget that follows what nodes can run.
	BoundCapacity Bound = "Capacity"

	// BoundUnlisted means that the limit shall go up, and a child may hold something of which the ledger does not know.
	BoundUnlisted Bound = "Unlisted"
	// BoundStuck means that it shall go up, and the child does not follow a raise now.
	BoundStuck Bound = "Stuck"
	// BoundReserved means that it shall go up, and somebody else may come to use the room without being granted it.
	BoundReserved Bound = "Reserved"
	// BoundExpected means that the limit shall go up, and children are about to say what they hold.
	BoundExpected Bound = "Expected"
	// BoundReports means that it shall go up, and children are about to say what they use of it.
	BoundReports Bound = "Reports"
	// BoundDebt means that it shall go up, and more is granted than the budget has.
	BoundDebt Bound = "Debt"
	// BoundOthers means that it shall go up, and others have to give back first.
	BoundOthers Bound = "Others"
)

// BoundedBy says of which names a budget holds less than stated, and of which of those less than wanted: what nodes can
// run bounds the ones, the pool above the others.
func BoundedBy(budget, wanted, stated amount.List) map[corev1.ResourceName]Bound {
	bounded := map[corev1.ResourceName]Bound{}
	less := func(a, b amount.List, name corev1.ResourceName) bool {
		value, listed := b[name]
		return !listed || a[name] < value
	}
	for name := range budget {
		switch {
		case less(budget, wanted, name):
			bounded[name] = BoundPool
		case less(wanted, stated, name):
			bounded[name] = BoundCapacity
		}
	}
	return bounded
}

// unbound is the split of a budget with bounds of children lifted, against which explanations are held.
type unbound struct {
	*round

	input  allocate.Input
	result allocate.Result
	// replaced is the result if nobody kept room for objects that are replaced, and stepless the one if any amount were a
	// step; nil where that is so.
	replaced, stepless *allocate.Result
	// rich are the results if the budget of one resource held anything, by the index of that; those that were asked for.
	rich map[int]allocate.Result
}

// unboundBy returns the split without the bounds that are lifted.
func (r *round) unboundBy(lifted ...Bound) *unbound {
	input := r.allocation(lifted...)
	u := &unbound{round: r, input: input, result: r.allocate(input), rich: map[int]allocate.Result{}}
	if r.replaces() {
		u.replaced = new(r.allocate(r.allocation(append(lifted, BoundReplacing)...)))
	}
	if len(r.in.Split.Grains) > 0 {
		input.Grains = nil
		u.stepless = new(r.allocate(input))
	}
	return u
}

// explain fills in which bound binds the child i under the name j, and what its limit shall become without a child that
// was not read.
func (u *unbound) explain(i, j int, claim *ClaimAccount) {
	c, name := u.children[i], u.names[j]
	free := u.result.Verdicts[i][j]
	switch {
	case c.Leaving || u.input.Children[i].Pinned:
		return
	case !u.in.Split.Static && !c.counts(name):
		claim.Bound = BoundUncounted
		return
	case u.ledger.Granted(name) == ledger.Unknown && free.Target != claim.Verdict.Target:
		claim.Bound, claim.Verdict.Reason, claim.Verdict.Fair = BoundUnread, free.Reason, free.Target
		return
	}
	claim.Verdict.Reason = u.reason(i, j)
	if claim.Verdict.Target > claim.Target && claim.Next < claim.Verdict.Target {
		claim.Bound = u.waitsFor(c, name)
		return
	}
	claim.Bound = u.ownBound(i, j)
}

// reason returns why the limit of the child i shall become what it shall under the name j. Where its place on nodes is
// not all that binds it, the reason is that of a split without it.
func (u *unbound) reason(i, j int) allocate.Reason {
	verdict := u.result.Verdicts[i][j]
	if verdict.Reason != allocate.Placed {
		return verdict.Reason
	}
	bound := BoundNodes
	if u.mayBind(BoundRoom, i, j) {
		bound = BoundRoom
	}
	if free := u.without(bound, i, j); free.Target == verdict.Target {
		return free.Reason
	}
	return verdict.Reason
}

// ownBound returns what keeps the child i from more under the name j: one of its own bounds, what others keep, or the
// budget.
func (u *unbound) ownBound(i, j int) Bound {
	verdict := u.result.Verdicts[i][j]
	for _, bound := range []Bound{BoundNodes, BoundRoom, BoundMax, BoundDamping} {
		if u.mayBind(bound, i, j) && u.without(bound, i, j).Target > verdict.Target {
			return bound
		}
	}
	gains := func(other allocate.Result) bool { return other.Verdicts[i][j].Target > verdict.Target }
	switch {
	case u.replaced != nil && gains(*u.replaced):
		return BoundReplacing
	case u.stepless != nil && gains(*u.stepless):
		return BoundStep
	case verdict.Reason == allocate.Short && gains(u.richIn(j)):
		return cmp.Or(u.in.Bounded[u.names[j]], BoundBudget)
	}
	return BoundNone
}

// richIn returns the split if the budget of the name j held anything.
func (u *unbound) richIn(j int) allocate.Result {
	if _, known := u.rich[j]; !known {
		input := u.input
		input.Budgets = slices.Clone(input.Budgets)
		input.Budgets[j] = math.MaxInt64
		u.rich[j] = u.allocate(input)
	}
	return u.rich[j]
}

// waitsFor returns what a raise of a child waits for.
func (r *round) waitsFor(c *Standing, name corev1.ResourceName) Bound {
	switch {
	case len(r.in.Expected) > 0:
		return BoundExpected
	case r.in.Uncounted:
		return BoundUnlisted
	case !c.counts(name):
		return BoundUncounted
	case !c.CanRaise:
		return BoundStuck
	case c.Barred.Has(name):
		return BoundReserved
	case r.waits[name] > 0:
		return BoundReports
	case r.ledger.Debt(name) > 0:
		return BoundDebt
	}
	return BoundOthers
}

// mayBind says whether a bound of the child i is worth a try: each takes an allocation.
func (u *unbound) mayBind(bound Bound, i, j int) bool {
	c := u.children[i]
	_, placed := c.Room[u.names[j]]
	switch bound {
	case BoundNodes:
		return c.Full && !placed
	case BoundRoom:
		return placed
	case BoundMax:
		return u.result.Verdicts[i][j].Reason == allocate.Capped
	case BoundDamping:
		return c.DampedFor > 0
	}
	return false
}

// without returns the verdict on the child i under the name j if a bound did not bind it. A max and room that is known
// bind one name each.
func (u *unbound) without(bound Bound, i, j int) allocate.Verdict {
	input, child := u.input, u.claimant(u.children[i], BoundUnread, bound)
	if bound == BoundMax || bound == BoundRoom {
		free := child.Claims[j]
		child.Claims = slices.Clone(u.input.Children[i].Claims)
		child.Claims[j] = free
	}
	input.Children = slices.Clone(input.Children)
	input.Children[i] = child
	return u.allocate(input).Verdicts[i][j]
}
