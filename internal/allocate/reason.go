package allocate

// Reason says why a target is what it is. The set is closed: every verdict carries one of the constants below.
type Reason string

const (
	// Pinned: the member cannot be changed now, so it keeps what it was granted.
	Pinned Reason = "Pinned"
	// Guaranteed: the target is the member's min.
	Guaranteed Reason = "Guaranteed"
	// Capped: the target is the member's max, and it would get or could use more.
	Capped Reason = "Capped"
	// Short: the budget does not hold what the member is entitled to or asks for; the target is its fair part.
	Short Reason = "Short"
	// Weight: the member's part, by weight, of what is left when everything that goes before is served.
	Weight Reason = "Weight"
)
