package demand

import (
	"cmp"
	"slices"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
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

// Need returns what all the pods that it lacks are charged.
func (s Sleeper) Need() amount.List { return s.Unit.Times(s.Missing) }

// Asleep returns the workloads that lack pods which a share charges, and that were denied or stopped trying; the one
// that has waited longest first. Those that make nothing of the room there is are left out: waking them does not help
// either.
func (b *Book) Asleep(share *quotav1alpha1.QuotaShare, now time.Time) []Sleeper {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	var sleepers []Sleeper
	for _, w := range ns.workloads {
		r, refused := ns.refusals[share.Name][w.Owner]
		trying := refused && r.open > 0
		stopped := w.denied == share.Name || w.stopped(now)
		if w.missing == 0 || w.states() || trying || !stopped {
			continue
		}
		unit, _ := w.asks(share, ns.refusals[share.Name])
		if len(unit) > 0 && !w.futile(share, unit, now) {
			sleepers = append(
				sleepers,
				Sleeper{Owner: w.Owner, Unit: unit, Missing: w.missing, Since: w.since, Refused: w.refusedBy() == share.Name},
			)
		}
	}
	sortSleepers(sleepers)
	return sleepers
}
