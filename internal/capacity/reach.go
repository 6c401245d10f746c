package capacity

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Reach is what the nodes of a cluster can come to have, those that may still come among them, as far as that is
// certain. A node is reported by its cluster, and the machine that it was by Cluster API: whichever comes first, for a
// while that node counts twice, or not at all.
type Reach struct {
	// Settle is how long two reports of one node may lie apart.
	Settle time.Duration

	level amount.List
	seen  []sighting
}

// sighting is what nodes had since an instant, and what they could come to have by what was known then.
type sighting struct {
	at        time.Time
	has, most amount.List
}

// See notes what nodes have and what may still come, and returns what of both together is certain, and after what time
// that may be more, 0 if it cannot. A node that has been there for as long as it takes to settle is no machine any more
// that may still come. That is certain at any time, and what was certain is so until both reports have said less for as
// long.
func (r *Reach) See(has, more amount.List, now time.Time) (amount.List, time.Duration) {
	most := amount.Sum(has, more)
	for len(r.seen) > 1 && now.Sub(r.seen[1].at) >= r.Settle {
		r.seen = r.seen[1:]
	}
	level, certain := make(amount.List, len(most)), make(amount.List, len(most))
	for name, value := range most {
		level[name] = r.levelOf(name, has[name], more[name])
		certain[name] = min(value, level[name])
	}
	if last := len(r.seen) - 1; last < 0 || !r.seen[last].has.Equal(has) || !r.seen[last].most.Equal(most) {
		r.seen = append(r.seen, sighting{now, has.Clone(), most})
	}
	r.level = level
	if certain.Covers(most) {
		return certain, 0
	}
	return certain, r.Settle - now.Sub(r.seen[1].at)
}

// levelOf returns what is certain of one name, unless reports say less now.
func (r *Reach) levelOf(name corev1.ResourceName, has, more int64) int64 {
	if len(r.seen) == 0 {
		return amount.Add(has, more)
	}
	greatest := int64(0)
	for _, s := range r.seen {
		has, greatest = min(has, s.has[name]), max(greatest, s.most[name])
	}
	return max(amount.Add(has, more), min(r.level[name], greatest))
}

// Bound takes off what may still come what a node has that may be one of these machines: it has come a moment ago. It
// returns after what time to look again, 0 if nothing is taken off.
func (r *Reach) Bound(
	growth *quotav1alpha1.CapacityGrowth, report *quotav1alpha1.ClusterCapacity, now time.Time,
) (again time.Duration) {
	if growth == nil || report.Nodes == nil {
		*r = Reach{Settle: r.Settle}
		return 0
	}
	has, more := amount.Saturate(report.Allocatable, amount.Down), amount.Saturate(growth.Resources, amount.Down)
	certain, again := r.See(has, more, now)
	taken := amount.Sub(amount.Sum(has, more), certain).Only(more)
	if taken.IsZero() {
		return 0
	}
	growth.Resources = amount.Sub(more, taken).ToList(growth.Resources)
	return again
}
