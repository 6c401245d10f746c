package round

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Bound is what keeps a limit from being another one: without it, the limit would become another one, or could become
// it now. The set is closed.
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
	// BoundMax means the max of the child.
	BoundMax Bound = "Max"
	// BoundDamping means that the limit was moved for headroom a moment ago.
	BoundDamping Bound = "Damping"
	// BoundReplacing means that other children keep room for objects that they replace.
	BoundReplacing Bound = "Replacing"

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

// unbound is the split of a budget with bounds of children lifted, against which explanations are held.
type unbound struct {
	*round

	input  allocate.Input
	result allocate.Result
	// released is the result if nobody kept room for objects that are replaced; nil if nobody does.
	released *allocate.Result
}

// unboundBy returns the split without the bounds that are lifted.
func (r *round) unboundBy(lifted ...Bound) *unbound {
	input := r.allocation(lifted...)
	u := &unbound{round: r, input: input, result: r.allocate(input)}
	if r.replaces() {
		u.released = new(r.allocate(r.allocation(append(lifted, BoundReplacing)...)))
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
	claim.Verdict.Reason = free.Reason
	if claim.Verdict.Target > claim.Target && claim.Next < claim.Verdict.Target {
		claim.Bound = u.waitsFor(c, name)
		return
	}
	claim.Bound = u.ownBound(i, j)
}

// ownBound returns what keeps the child i from more under the name j: one of its own bounds, or what others keep.
func (u *unbound) ownBound(i, j int) Bound {
	verdict := u.result.Verdicts[i][j]
	for _, bound := range []Bound{BoundNodes, BoundMax, BoundDamping} {
		if u.mayBind(bound, u.children[i], verdict.Reason) && u.without(bound, i, j) > verdict.Target {
			return bound
		}
	}
	if u.released != nil && u.released.Verdicts[i][j].Target > verdict.Target {
		return BoundReplacing
	}
	return BoundNone
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

// mayBind says whether a bound of a child is worth a try: each takes an allocation.
func (u *unbound) mayBind(bound Bound, c *Standing, reason allocate.Reason) bool {
	switch bound {
	case BoundNodes:
		return c.Full || len(c.Room) > 0
	case BoundMax:
		return reason == allocate.Capped
	case BoundDamping:
		return c.DampedFor > 0
	}
	return false
}

// without returns what the limit of the child i would become under the name j if a bound did not bind it.
func (u *unbound) without(bound Bound, i, j int) int64 {
	input := u.input
	input.Children = slices.Clone(input.Children)
	input.Children[i] = u.claimant(u.children[i], BoundUnread, bound)
	return u.allocate(input).Verdicts[i][j].Target
}
