package demand

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// Demand returns what the namespace could use under a share beyond what it uses, by kind, and whether time alone
// changes it. Elsewhere is what other books say was asked: of what one owner needs, the most that any book knows
// counts.
func (b *Book) Demand(
	share *quotav1alpha1.QuotaShare, now time.Time, elsewhere ...map[string]Need,
) (demand []Need, pending bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	needs := map[string]Need{}
	if ns, known := b.namespaces[share.Namespace]; known {
		for owner, need := range ns.needs(share, now, &pending) {
			if !ns.full(owner, need.pod, now) {
				needs[owner.Key()] = need.Need
			}
		}
		pending = pending || len(ns.unschedulable) > 0
	}
	for _, asked := range elsewhere {
		for owner, need := range asked {
			known := needs[owner]
			needs[owner] = Need{
				Amounts: amount.Max(known.Amounts, need.Amounts), Unit: smaller(known.Unit, need.Unit, budgetOf(share)),
			}
		}
	}
	return kinds(share, needs), pending
}

// Full says whether a part of what the namespace needs is left out of its demand, because no node has room for it.
func (b *Book) Full(share *quotav1alpha1.QuotaShare, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known || len(ns.unschedulable) == 0 {
		return false
	}
	for owner, need := range ns.needs(share, now, new(bool)) {
		if ns.full(owner, need.pod, now) {
			return true
		}
	}
	return false
}

// need is what an owner needs, with the shape of its pods if they have one.
type need struct {
	Need
	pod *Shape
}

// needs returns what each owner needs: a workload its missing pods or what it is asking for, whichever is more, and
// whoever else what was refused. Pods that ask for more than the whole budget are left out, and those that room does
// not help: they would only take from others.
func (ns *namespace) needs(share *quotav1alpha1.QuotaShare, now time.Time, pending *bool) map[Owner]need {
	needs := ns.asked(share, now, pending)
	refusals, budget := ns.refusals[share.Name], budgetOf(share)
	for _, w := range ns.workloads {
		unit, asked := w.asks(share, refusals)
		missing := w.lacks(unit, budget, now)
		if missing == 0 {
			continue
		}
		*pending = true
		shape := ns.shape(w)
		if !asked && !w.states() && !ns.idles(w, shape, now) {
			continue
		}
		if exceeds(unit, budget) || !w.states() && w.futile(share, unit, now) {
			continue
		}
		amounts := amount.Max(needs[w.Owner].Amounts, unit.Times(missing))
		needs[w.Owner] = need{Need: Need{Amounts: amounts, Unit: unit}, pod: shape}
	}
	return needs
}

// asked returns what each owner was refused a moment ago. Of a workload that counts which is held: it says itself what
// it lacks beside that.
func (ns *namespace) asked(share *quotav1alpha1.QuotaShare, now time.Time, pending *bool) map[Owner]need {
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
		needs[owner] = need{Need: Need{Amounts: asked, Unit: r.unit}, pod: r.pod}
	}
	return needs
}

// full says whether no node has room for a pod: one of the same owner, or one that asks for no more and may go to the
// same nodes, has waited for a node in vain. More budget for such pods would not help this cluster. It helps those of
// which each has its own node.
func (ns *namespace) full(owner Owner, pod *Shape, now time.Time) bool {
	if w, known := ns.workloads[owner.UID]; known && w.Placed {
		return false
	}
	for _, waiting := range ns.unschedulable {
		alike := pod != nil && owner.UID != "" && waiting.Owner == owner.UID || pod.asksNoLess(waiting.Shape)
		if alike && now.Sub(waiting.Unschedulable) >= pace.UnschedulableAfter {
			return true
		}
	}
	return false
}

// shape returns the shape of the pods of a workload; it is not looked at while all pods find their node.
func (ns *namespace) shape(w *workload) *Shape {
	if w.pod == nil || len(ns.unschedulable) == 0 {
		return nil
	}
	return ShapeOf(w.pod)
}

// asks returns what a request of the workload that did not fit asked for last, or what one of its pods would if there
// was none.
func (w *workload) asks(share *quotav1alpha1.QuotaShare, refusals map[Owner]*refusal) (unit amount.List, asked bool) {
	if r, refused := refusals[w.Owner]; refused {
		return r.unit, true
	}
	if unit, asked = w.asked[share.Name]; asked {
		return unit, true
	}
	return w.unit(share), false
}

// idles says whether a workload makes no progress, or none that helps it: pods that find no node would fill any
// headroom.
func (ns *namespace) idles(w *workload, shape *Shape, now time.Time) bool {
	return w.stopped(now) || ns.full(w.Owner, shape, now)
}

// stopped says whether the workload has made no progress for a while, though it waits for no pod of its own.
func (w *workload) stopped(now time.Time) bool {
	return !w.Blocked && now.Sub(w.since) >= pace.ProgressPatience
}

// futile says whether the workload lacks something else than room: one of its pods fits, and another quota refuses it,
// or it has made none for a while. What refused it before the share was seen without room may have room itself by now.
func (w *workload) futile(share *quotav1alpha1.QuotaShare, unit amount.List, now time.Time) bool {
	left := amount.Sub(amount.Saturate(share.Status.Hard, amount.Down), amount.Saturate(share.Status.Used, amount.Up))
	if !left.Covers(unit) {
		delete(w.room, share.Name)
		w.lack(share.Name)
		return false
	}
	if w.room == nil {
		w.room = map[string]spell{}
	}
	room, known := w.room[share.Name]
	if !known || now.Sub(room.seen) > pace.UnseenFor {
		room.since = now
	}
	room.seen = now
	w.room[share.Name] = room
	refusedBy := w.refusedBy()
	byAnother := refusedBy != "" && refusedBy != share.Name && !w.lacked[share.Name]
	return byAnother || now.Sub(room.since) >= pace.FutileAfter
}

// lack notes that a share has no room for a pod of the workload.
func (w *workload) lack(share string) {
	if w.lacked == nil {
		w.lacked = map[string]bool{}
	}
	w.lacked[share] = true
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

// unit returns what one pod of the workload is charged by a share.
func (w *workload) unit(share *quotav1alpha1.QuotaShare) amount.List {
	if w.pod == nil {
		return nil
	}
	return charge(w.pod, share)
}

// charge returns what a pod is charged by a share.
func charge(pod *corev1.PodSpec, share *quotav1alpha1.QuotaShare) amount.List {
	charge := nativequota.Charge{Resource: nativequota.Pods, Object: &corev1.Pod{Spec: *pod}}
	scopes := &corev1.ResourceQuotaSpec{Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}
	return amount.Saturate(charge.To(scopes, share.Spec.Hard), amount.Up)
}
