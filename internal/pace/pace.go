// Package pace holds the numbers by which limits follow demand, for the product and for the replay that they were
// chosen by: docs/decisions/0026-pacing.md tells how.
package pace

import (
	"time"

	"github.com/fedquota/fedquota/internal/allocate"
)

const (
	// HeadroomPercent is the room above its need that a cluster is given, in percent of that.
	HeadroomPercent = 10
	// ReservePercent is the part of the slack that the hub keeps where requests are held, in percent: they are raised out
	// of it without a donor.
	ReservePercent = 25
	// Hold is how long a request that does not fit waits for a raise.
	Hold = 500 * time.Millisecond
	// Memory is how long a request that did not fit counts as demand after it was last seen. Who still wants it asks
	// again, or is known to lack pods.
	Memory = 5 * time.Second
	// Starved is how many requests of a kind have to be refused in a row, one after the other, before the next one is
	// expected.
	Starved = 3
	// Relief is how many requests of such a kind may then fit before the next one is not expected any more.
	Relief = 6
	// MostMemory is the longest that a request is expected, and after how long without one a kind of request counts as one
	// that does not come again.
	MostMemory = 5 * time.Minute
	// Together is how soon after another one a request comes with it, and tells of no rhythm.
	Together = time.Second
	// Damping is the least time between two moves of a limit for headroom alone.
	Damping = 5 * time.Second
	// HoldDamping is the same where requests are held: who has no headroom there waits a moment and is not refused, so
	// that headroom can come later.
	HoldDamping = time.Minute
	// RespiteTime is how long a cluster that gave room away keeps its respite.
	RespiteTime = time.Minute
	// AskingRespiteTime is the same for a cluster that asks for room itself: what it keeps did not serve it, and may be
	// what another one lacks.
	AskingRespiteTime = 10 * time.Second
)

// MemoryAfter returns how long the next request is expected whose like has come after pauses of this length: it may be
// half as late again.
func MemoryAfter(pause time.Duration) time.Duration {
	return min(max(Memory, pause+pause/2), MostMemory)
}

// Options returns the options of the allocation, by whether requests are held.
func Options(hold bool) allocate.Options {
	options := allocate.Options{HeadroomPercent: HeadroomPercent}
	if hold {
		options.ReservePercent = ReservePercent
	}
	return options
}

// DampingOf returns how long a cluster is damped.
func DampingOf(hold bool) time.Duration {
	if hold {
		return HoldDamping
	}
	return Damping
}

// RespiteTimes is how long clusters that gave room away keep their respite.
type RespiteTimes struct {
	// Idle is for those that ask for nothing, Asking for those that ask for room themselves.
	Idle, Asking time.Duration
}

// Respites are the times of the product.
func Respites() RespiteTimes { return RespiteTimes{Idle: RespiteTime, Asking: AskingRespiteTime} }

// Of returns the time of a cluster that asks for this much.
func (t RespiteTimes) Of(demand int64) time.Duration {
	if demand > 0 {
		return t.Asking
	}
	return t.Idle
}

// Respite returns what a cluster that gave room away keeps for a while before others are given what they ask for: of
// what it has, 6 % more than it uses, less 0.2 % of the budget. In a small fleet, where the same few clusters would
// have to give the room of each pod that ends, that spares moves. In a large one such leftovers are too small for a pod
// each, and together they are missed; there a cluster is seldom asked anyway.
func Respite(budget, used, target int64) int64 {
	budget, used = max(budget, 0), max(used, 0)
	spare := max(0, used/100*6+used%100*6/100-budget/500)
	return min(target, used+min(spare, max(0, target-used)))
}
