package demand

import (
	"cmp"
	"slices"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
)

// Sleeper is a workload that lacks pods and may be in back-off.
type Sleeper struct {
	Owner
	// Unit is what one of its pods is charged, Missing how many it lacks.
	Unit    amount.List
	Missing int64
	// Since is when it last made progress.
	Since time.Time
	// Refused means that it is known to have been refused by the quota of the share: what else it may wait for is not ours
	// to end.
	Refused bool
}

func sortSleepers(sleepers []Sleeper) {
	slices.SortFunc(sleepers, func(a, b Sleeper) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// refusedBy returns the quota that is known to have refused the workload, empty if none is. What was seen of its
// requests goes before what its controller says, which may be about the first one that was refused.
func (w *workload) refusedBy() string { return cmp.Or(w.denied, w.RefusedBy) }

// Need returns what all the pods that it lacks are charged.
func (s Sleeper) Need() amount.List { return s.Unit.Times(s.Missing) }
