package allocate

// Reason says why a target is what it is. The set is closed: every verdict carries one of the constants below.
type Reason string

const (
	// Pinned means: the child cannot be changed now, so it keeps what it was granted.
	Pinned Reason = "Pinned"
	// Kept means: the child has what it needs and nobody needs what it has beyond that, so nothing moves.
	Kept Reason = "Kept"
	// Surplus means: lowered, because the child held more than its fair share and somebody needs it, or the budget was
	// cut.
	Surplus Reason = "Surplus"
	// Short means: the budget does not hold what the child is entitled to or asks for; the target is its fair part.
	Short Reason = "Short"
	// Capped means: the target is bounded by the child's max.
	Capped Reason = "Capped"
	// Placed means: the target is bounded by what the child has a place for.
	Placed Reason = "Placed"
	// Coupled means: the child asks for more, but its pods could not use it, because they lack another resource.
	Coupled Reason = "Coupled"

	// Usage means: raised to what is in use.
	Usage Reason = "Usage"
	// Guaranteed means: raised to the part of the child's min that it does not lend. Under Static: the target is the min.
	Guaranteed Reason = "Guaranteed"
	// Reclaim means: raised to what the child asks for within its min, some of which it had lent.
	Reclaim Reason = "Reclaim"
	// Respite means: raised to what it keeps for a while since it gave room away.
	Respite Reason = "Respite"
	// Expected means: raised to have room for the next request of a client that asks again and again, within the child's
	// fair part.
	Expected Reason = "Expected"
	// Demand means: raised to what the child uses and asks for.
	Demand Reason = "Demand"
	// Headroom means: raised to have room for what it may need next.
	Headroom Reason = "Headroom"
	// Weight means: the target is the child's part, by weight, of what is left when everything that goes before is
	// served. Under Static that is the whole budget.
	Weight Reason = "Weight"
)
