package demand

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

// Unscheduled returns what a share charges pods that no node has had room for, or that a gate has held, for a while,
// and whether time alone changes it. Where nodes may come, such pods count at once: what these are for is not to be
// given away twice.
func (b *Book) Unscheduled(share *quotav1alpha1.QuotaShare, now time.Time) (charged amount.List, pending bool) {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil, false
	}
	mayCome := len(share.Spec.MostAllocatable) > 0
	for _, pod := range ns.unplaced {
		waits := pod.waits(now)
		if waits || mayCome {
			charged = amount.Sum(charged, charge(pod.Spec, share))
		}
		pending = pending || !waits
	}
	return charged, pending
}

// Stranded returns the pods under a share that have waited for a node for a while and that none has room for, by shape.
// Fits says whether a node has room for what one requests of it. A pod that fits waits for something else, and one of
// those of which each has its own node is helped by no other one.
func (b *Book) Stranded(
	share *quotav1alpha1.QuotaShare, now time.Time, fits func(requests amount.List) bool,
) []shape.Shape {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	fit := map[string]bool{}
	var stranded []shape.Shape
	for _, pod := range ns.unschedulable {
		if w, known := ns.workloads[pod.Owner]; known && w.Placed || !pod.waits(now) {
			continue
		}
		requests := pod.Signature.Requests()
		key := fmt.Sprint(requests) // in the order of names
		if _, known := fit[key]; !known {
			fit[key] = fits(requests)
		}
		if charged := charge(pod.Spec, share); !fit[key] && len(charged) > 0 {
			stranded = append(stranded, shape.Shape{Amounts: charged, Unit: charged})
		}
	}
	return shape.Join(slices.Values(stranded), share.Spec.Hard, budgetOf(share))
}

// SetAllocatable notes what the nodes of the cluster have for pods, by resource name as nodes have it.
func (b *Book) SetAllocatable(allocatable amount.List) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.allocatable = allocatable
}

// hopeful returns what each owner needs under a share without what no node has room for and none may come that has, and
// whether anything was left out.
func (b *Book) hopeful(
	ns *namespace, share *quotav1alpha1.QuotaShare, now time.Time, pending *bool,
) (needs map[Owner]need, full bool) {
	needs = ns.needs(share, now, pending)
	var without []Owner
	for owner, need := range needs {
		if ns.full(owner, need.pod, now) {
			without = append(without, owner)
		}
	}
	if len(without) == 0 {
		return needs, false
	}
	slices.SortFunc(without, func(a, b Owner) int { return cmp.Compare(a.Key(), b.Key()) })
	growth := b.growth(share)
	for _, owner := range without {
		need, requests := needs[owner], needs[owner].pod.Requests()
		wanted := need.Amounts.Filling(need.Unit)
		pods := min(growth.Fitting(requests), wanted)
		growth = amount.Sub(growth, requests.Times(pods))
		switch {
		case pods == 0:
			full = true
			delete(needs, owner)
		case pods < wanted:
			full = true
			need.Amounts = need.Unit.Times(pods)
			needs[owner] = need
		}
	}
	return needs, full
}

// growth returns what nodes may still come for that no pod waits for, nil if none may come, or nobody knows.
func (b *Book) growth(share *quotav1alpha1.QuotaShare) amount.List {
	if b.allocatable == nil {
		return nil
	}
	growth := amount.Sub(amount.Saturate(share.Spec.MostAllocatable, amount.Down), b.allocatable)
	for _, ns := range b.namespaces {
		for uid := range ns.unschedulable {
			growth = amount.Sub(growth, ns.unschedulable[uid].Signature.Requests())
		}
	}
	return growth
}

// full says whether no node has room for a pod: one of the same owner, or one that asks for no more and may go to the
// same nodes, has waited for a node in vain. More budget for such pods would not help this cluster. It helps those of
// which each has its own node, and those of a group that has yet to be complete.
func (ns *namespace) full(owner Owner, pod *signature.Signature, now time.Time) bool {
	if w, known := ns.workloads[owner.UID]; known && w.Placed {
		return false
	}
	for _, waiting := range ns.unschedulable {
		if waiting.Grouped {
			continue
		}
		alike := pod != nil && owner.UID != "" && waiting.Owner == owner.UID || pod.AsksNoLess(waiting.Signature)
		if alike && now.Sub(waiting.Unschedulable) >= pace.UnschedulableAfter {
			return true
		}
	}
	return false
}
