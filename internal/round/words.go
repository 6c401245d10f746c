package round

import (
	"fmt"

	"github.com/fedquota/fedquota/internal/allocate"
)

// Words say what a reason or a bound means: in a few words beside a limit, and in a sentence. Whoever prints the sentence fills in
// {target}, {fair}, {min}, {max} and {lacking}.
type Words struct{ Brief, Sentence string }

// WordsOf returns what a reason means. One that this version does not know, as a newer hub manager may have, is said as
// it is.
func WordsOf(reason allocate.Reason) Words {
	if words, known := reasonWords[reason]; known {
		return words
	}
	return Words{Sentence: fmt.Sprintf("Its limit becomes {target}, for the reason %s, which this version does not know.", reason)}
}

var reasonWords = map[allocate.Reason]Words{
	allocate.Pinned:  {"it cannot be changed now", "Its limit does not move now."},
	allocate.Kept:    {"it has what it needs", "It has what it needs, and nobody needs what it has beyond that, so nothing moves."},
	allocate.Surplus: {"it had more than it needs", "It has more than it needs, and somebody else needs that or the budget was cut: its limit goes down to {target}."},
	allocate.Short:   {"its fair part of too little", "The budget does not hold all that clusters ask for. Its fair part is {fair}."},
	allocate.Capped: {
		"its max", "It is at its max of {max}, and without that it would not get more either.",
	},
	allocate.Placed: {
		"what its nodes have room for", "Its limit becomes {target}: its nodes have room for no more.",
	},
	allocate.Coupled:    {"it lacks another resource", "Its pods could not use more of this, because they lack {lacking}."},
	allocate.Usage:      {"what is in use", "Its limit goes up to the {target} that are in use."},
	allocate.Guaranteed: {"its min", "It is guaranteed {min}."},
	allocate.Reclaim:    {"its min, which it had lent", "It is guaranteed {min}, has lent some of that, and asks for it now."},
	allocate.Respite:    {"it gave room away", "It gave room away a moment ago, and keeps a little more than it uses for a while."},
	allocate.Expected: {
		"room for its next request", "Its limit goes up to {target}: a client there asks again and again, and its next request is within the cluster's fair part.",
	},
	allocate.Demand:   {"it asks for more", "Its limit goes up to {target}: what it uses and asks for."},
	allocate.Headroom: {"room for what it may need next", "Its limit goes up to {target}, to have room for what it may need next."},
	allocate.Weight:   {"its part by weight", "Its limit goes up to {target}: its part, by weight, of what nobody needs."},
}

// Words returns what a bound means. Whoever prints the sentence fills in {unread}, {fair}, {max}, {room}, {step},
// {replacing}, {expected}, {reporting}, {debt}, {missing} and {holders}. Where the reason says all, there is none.
func (b Bound) Words() Words {
	if words, known := boundWords[b]; known {
		return words
	}
	return Words{Sentence: fmt.Sprintf("It is bound by %s, which this version does not know.", b)}
}

var boundWords = map[Bound]Words{
	BoundNone: {},
	BoundUnread: {
		"somebody was not read", "No limit is decided on before {unread} was read, which may hold anything. If it holds what it was told, this limit becomes {fair} then.",
	},
	BoundUncounted: {"its usage is not known", "It does not say what it uses of this: its limit stays as it was granted."},
	BoundNodes: {
		"its nodes are full", "Its nodes are full: it gets what it has or asks for, and no headroom, which pods without a node would fill.",
	},
	BoundRoom: {
		"no node has room for more", "Its nodes, with those that may still be added, have room for {room} more than it uses: it gets no more than that.",
	},
	BoundMax:     {"its max", "It is at its max of {max}."},
	BoundDamping: {"it was moved a moment ago", "It was moved for headroom a moment ago, and is not moved for that again so soon."},
	BoundReplacing: {
		"others replace their pods", "Workloads of other clusters are replacing their pods, and what they lack meanwhile stays with these, for 10 minutes at most: {replacing}.",
	},
	BoundStep:     {"no whole step is left", "Limits come in steps of {step}, and no whole step is left for it."},
	BoundBudget:   {"the budget is full", ""},
	BoundPool:     {"the pool gives no more", "The pool above gives the budget no more of this than it has."},
	BoundCapacity: {"the nodes can run no more", "The budget follows the nodes of its clusters, and these can run no more of this."},
	BoundUnlisted: {"the ledger is full", "No limit goes up while a cluster for which the ledger has no room may hold a share."},
	BoundStuck:    {"it cannot be raised now", "It cannot be raised now: see its state."},
	BoundReserved: {
		"limits are to be taken over", "It waits for limits elsewhere that are to be taken over, and let more be used than is granted.",
	},
	BoundExpected: {"a cluster is not heard yet", "It waits until the hub manager has heard {expected}."},
	BoundReports:  {"reports are awaited", "It waits a few seconds for {reporting} to say what is used of this there."},
	BoundDebt: {
		"debt", "It waits for {holders} to give back: more is granted than the budget has, by {debt}, and {missing} more are missing.",
	},
	BoundOthers: {"others give back first", "It waits for {missing} that others have to give back first: {holders}."},
}
