package demand

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Replacing returns what a share charged pods that workloads have given up to replace them, and have not made anew; and
// whether time alone changes it. One that makes nothing of the room it has needs none kept. One that has lacked pods
// for too long, in this rollout or the ones before, gives them up: rolling for ever must not keep room from others for
// ever.
func (b *Book) Replacing(share *quotav1alpha1.QuotaShare, now time.Time) (replacing amount.List, pending bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil, false
	}
	for _, r := range ns.rollouts {
		lost, pod := r.Lost(now)
		if lost == 0 {
			continue
		}
		pending = true
		if w := ns.workloads[r.Newest()]; w.missing == 0 || !w.futile(share, w.unit(share), now) {
			replacing = amount.Sum(replacing, charge(pod, share).Times(lost))
		}
	}
	return replacing, pending
}
