package demand

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

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

// full says whether no node has room for a pod: one of the same owner, or one that asks for no more and may go to the
// same nodes, has waited for a node in vain. More budget for such pods would not help this cluster. It helps those of
// which each has its own node.
func (ns *namespace) full(owner Owner, pod *signature.Signature, now time.Time) bool {
	if w, known := ns.workloads[owner.UID]; known && w.Placed {
		return false
	}
	for _, waiting := range ns.unschedulable {
		alike := pod != nil && owner.UID != "" && waiting.Owner == owner.UID || pod.AsksNoLess(waiting.Signature)
		if alike && now.Sub(waiting.Unschedulable) >= pace.UnschedulableAfter {
			return true
		}
	}
	return false
}
