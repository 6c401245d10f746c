package demand

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// waits says whether a pod without a node has been so for so long that somebody should know.
func (p *Pod) waits(now time.Time) bool { return now.Sub(p.Unplaced) >= pace.UnschedulableAfter }

// Unscheduled returns what a share charges pods that no node has had room for, or that a gate has held, for a while;
// and whether time alone changes it.
func (b *Book) Unscheduled(share *quotav1alpha1.QuotaShare, now time.Time) (charged amount.List, pending bool) {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil, false
	}
	for _, pod := range ns.unplaced {
		if pod.waits(now) {
			charged = amount.Sum(charged, charge(pod.Spec, share))
		} else {
			pending = true
		}
	}
	return charged, pending
}
