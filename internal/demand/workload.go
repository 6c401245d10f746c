package demand

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// workload is a workload with what follows from its pods.
type workload struct {
	Workload
	pod     *corev1.PodSpec // the template with the defaults of the namespace
	missing int64
	since   time.Time              // missing has been what it is
	denied  string                 // the share that denied a request of it last, since it last lacked nothing
	asked   map[string]amount.List // what a request of it asked for that did not fit a share since then, by share
	room    map[string]spell       // of room for one of its pods that it makes nothing of, by share
	lacked  map[string]bool        // the shares that were seen without room for one of its pods since it was denied last
}

// spell is the time through which something was seen again and again.
type spell struct{ since, seen time.Time }

// states says whether a workload makes no pods and states that it wants room for them.
func (w *workload) states() bool { return !w.StatedUntil.IsZero() }

// lacks returns how many pods a workload lacks, if it wants them now: no more than the budget holds of those for which
// it only wants room.
func (w *workload) lacks(unit, budget amount.List, now time.Time) int64 {
	if !w.states() {
		return w.missing
	}
	if !now.Before(w.StatedUntil) {
		return 0
	}
	return min(w.missing, budget.Fitting(unit.Only(budget)))
}

// ask notes what a request of the workload asked for that did not fit a share.
func (w *workload) ask(share string, asked amount.List) {
	if w.asked == nil {
		w.asked = map[string]amount.List{}
	}
	w.asked[share] = asked
}

// refusedBy returns the quota that is known to have refused the workload, empty if none is. What was seen of its
// requests goes before what its controller says, which may be about the first one that was refused.
func (w *workload) refusedBy() string { return cmp.Or(w.denied, w.RefusedBy) }

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
