package demand

import (
	"maps"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

// Demand returns what the namespace could use under a share beyond what it uses, by shape, and whether time alone
// changes it. Elsewhere is what other books say was asked: of what one owner needs, the most that any book knows
// counts.
func (b *Book) Demand(
	share *quotav1alpha1.QuotaShare, now time.Time, elsewhere ...map[string]shape.Shape,
) (demand []shape.Shape, pending bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	needs := map[string]shape.Shape{}
	if ns, known := b.namespaces[share.Namespace]; known {
		of, _ := b.hopeful(ns, share, now, &pending)
		for owner, need := range of {
			needs[owner.Key()] = need.Shape
		}
		pending = pending || len(ns.unschedulable) > 0
	}
	for _, asked := range elsewhere {
		for owner, need := range asked {
			needs[owner] = needs[owner].Max(need, budgetOf(share))
		}
	}
	return shape.Join(maps.Values(needs), share.Spec.Hard, budgetOf(share)), pending
}

// Full says whether a part of what the namespace needs is left out of its demand, because no node has room for it, and
// none may still come that has.
func (b *Book) Full(share *quotav1alpha1.QuotaShare, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known || len(ns.unschedulable) == 0 {
		return false
	}
	_, full := b.hopeful(ns, share, now, new(bool))
	return full
}

// need is what an owner needs, with the signature of its pods if that is known.
type need struct {
	shape.Shape
	pod *signature.Signature
}

// needs returns what each owner needs: a workload its missing pods or what it is asking for, whichever is more, and
// whoever else what was refused. Pods that ask for more than the whole budget are left out, and those that room does
// not help: they would only take from others.
func (ns *namespace) needs(share *quotav1alpha1.QuotaShare, now time.Time, pending *bool) map[Owner]need {
	needs := ns.recent(share, now, pending)
	refusals, budget := ns.refusals[share.Name], budgetOf(share)
	for _, w := range ns.workloads {
		unit, asked := w.asks(share, refusals)
		missing := w.lacks(unit, budget, now)
		if missing == 0 {
			continue
		}
		*pending = true
		pod := ns.podOf(w)
		if !asked && !w.states() && !ns.idles(w, pod, now) {
			continue
		}
		if exceeds(unit, budget) || !w.states() && w.futile(share, unit, now) {
			continue
		}
		amounts := amount.Max(needs[w.Owner].Amounts, unit.Times(missing))
		needs[w.Owner] = need{Shape: shape.Shape{Amounts: amounts, Unit: unit}, pod: pod}
	}
	return needs
}

// recent returns what each owner was refused a moment ago. Of a workload that counts which is held: it says itself what
// it lacks beside that.
func (ns *namespace) recent(share *quotav1alpha1.QuotaShare, now time.Time, pending *bool) map[Owner]need {
	needs := map[Owner]need{}
	for owner, r := range ns.refusals[share.Name] {
		if r.open == 0 && now.Sub(r.seen) >= pace.Memory {
			ns.strike(share.Name, owner)
			continue
		}
		*pending = true
		asked := r.peak
		if _, known := ns.workloads[owner.UID]; known {
			asked = r.held
		}
		needs[owner] = need{Shape: shape.Shape{Amounts: asked, Unit: r.unit}, pod: r.pod}
	}
	return needs
}

// podOf returns the signature of the pods of a workload; it is not looked at while all pods find their node.
func (ns *namespace) podOf(w *workload) *signature.Signature {
	if w.pod == nil || len(ns.unschedulable) == 0 {
		return nil
	}
	return signature.Of(w.pod)
}

// idles says whether a workload makes no progress, or none that helps it: pods that find no node would fill any
// headroom.
func (ns *namespace) idles(w *workload, pod *signature.Signature, now time.Time) bool {
	return w.stopped(now) || ns.full(w.Owner, pod, now)
}

// Hopeless says whether a request asks for more than all clusters may use together, as far as the share knows.
func Hopeless(share *quotav1alpha1.QuotaShare, asked amount.List) bool {
	return exceeds(asked, budgetOf(share))
}

// budgetOf returns what all clusters may use together, as far as the share knows.
func budgetOf(share *quotav1alpha1.QuotaShare) amount.List {
	return amount.Saturate(share.Spec.Fleet.Budget, amount.Down)
}

// exceeds says whether more is asked for of some name than the budget has, if it has that name.
func exceeds(asked, budget amount.List) bool {
	return !budget.Covers(asked.Only(budget))
}
