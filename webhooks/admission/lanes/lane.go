// Package lanes says which requests of a share have room, in which order they wait for it, and for how long. It reads
// nothing: who knows tells it.
package lanes

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// Lane is where the requests of one share pass.
type Lane struct {
	// Key is that of the share.
	Key types.NamespacedName

	hub *Heartbeat
	// catchUpMost is how long after a raise the API server may judge by the limit before.
	catchUpMost time.Duration

	mutex   sync.Mutex
	share   *quotav1alpha1.QuotaShare
	quota   *corev1.ResourceQuota
	used    amount.List
	hard    amount.List // in force
	raises  int         // how often a limit went up
	raised  time.Time   // when it did last
	judged  int         // the last raise that the API server is known to judge by
	places  []*Place    // of requests whose charge was not seen yet, the oldest first
	sum     amount.List // what they ask for together
	waiters []*Waiter

	vain Vain

	signs int  // how often the hub wrote the share
	pings bool // for a sign of the hub: a request was held in vain without one, and there was none since
}

// New returns the lane of a share. The hub that raises its limits has a heartbeat, and the API server judges by a raise
// some time after it at the most.
func New(key types.NamespacedName, hub *Heartbeat, catchUpMost time.Duration) *Lane {
	return &Lane{Key: key, hub: hub, catchUpMost: catchUpMost}
}

// asking is what a request asked for, and when that was decided.
type asking struct {
	asked amount.List
	at    time.Time
}

// Place is the room that a request was given.
type Place struct {
	asking
	// Gone says that it went on to native quota: its charge may be seen.
	Gone bool
	// dryRun says that it takes none.
	dryRun bool
}

// Charge returns what a request adds to the share's quota; nothing if this share is none of the request's business.
func (l *Lane) Charge(charge nativequota.Charge) (amount.List, corev1.ResourceList) {
	l.mutex.Lock()
	share, quota := l.share, l.quota
	l.mutex.Unlock()
	if share == nil || !share.DeletionTimestamp.IsZero() || share.Spec.Admission.Mode == quotav1alpha1.AdmissionOff ||
		!Dependable(quota) {
		return nil, nil
	}
	limited := quota.Status.Hard
	if fresh(quota) {
		limited = quota.Spec.Hard
	}
	list := charge.To(&quota.Spec, limited)
	if !fresh(quota) && !Counted(quota, list) {
		return nil, nil
	}
	return amount.Saturate(list, amount.Up), list
}

// Unstated says whether the ResourceQuota in force refuses a pod since it does not state what it asks for.
func (l *Lane) Unstated(pod *corev1.Pod) bool {
	quota := l.Quota()
	return quota != nil && len(nativequota.Unstated(pod, &quota.Spec, quota.Status.Hard)) > 0
}

// Limits are the limits in force; nil without any.
func (l *Lane) Limits() amount.List {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.hard
}

// Dependable says whether the ResourceQuota is what the agent makes it.
func Dependable(quota *corev1.ResourceQuota) bool {
	return quota != nil && nativequota.IsManaged(quota) &&
		strings.TrimSpace(quota.Annotations[quotav1alpha1.BreakGlassAnnotation]) == "" // as the agent reads it
}

// fresh says whether the ResourceQuota is not in force yet. The API server may know better: it enforces the first
// limit, which is zero, once usage is counted. So a request waits for what comes.
func fresh(quota *corev1.ResourceQuota) bool { return len(quota.Status.Hard) == 0 }

// Counted says whether usage is known under all names that a request asks for. The quota controller puts a limit in
// force together with the usage: a limit without one is of a name that nothing is counted under, and says nothing of
// the others.
func Counted(quota *corev1.ResourceQuota, asked corev1.ResourceList) bool {
	for name := range asked {
		if _, known := quota.Status.Used[name]; !known {
			return false
		}
	}
	return true
}

// Enter gives the request a place; nil if there is no room for it. Right after a raise it does not go on yet.
func (l *Lane) Enter(asked amount.List, now time.Time, dryRun bool) *Place {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.room(asked, now) {
		return nil
	}
	judged := l.raises <= l.judged || now.Sub(l.raised) >= l.catchUpMost
	p := &Place{asking: asking{asked: asked}, Gone: judged, dryRun: dryRun}
	l.let(p, now)
	return p
}

// Confirm says whether there is room for the request still, beside what was seen since it was given its place: another
// replica may have let one go that took it. The request goes on then, and has no place otherwise.
func (l *Lane) Confirm(p *Place, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.drop(p)
	if !l.room(p.asked, now) {
		l.serve(now)
		return false
	}
	p.Gone = true
	l.let(p, now)
	return true
}

// room says whether the request fits beside what is used and what is underway.
func (l *Lane) room(asked amount.List, now time.Time) bool {
	for len(l.places) > 0 && now.Sub(l.places[0].at) >= pace.Underway {
		l.drop(l.places[0])
	}
	for name, value := range asked {
		limit, limited := l.hard[name]
		if limited && amount.Add(amount.Add(l.used[name], l.sum[name]), value) > limit {
			return false
		}
	}
	return true
}

// Doubtful says whether the request fits, and the room for it may be gone: a limit was raised a moment ago, for
// somebody who takes that room, or no other request like this one fits beside it.
func (l *Lane) Doubtful(asked amount.List, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.room(asked, now) && (now.Sub(l.raised) < l.catchUpMost || !l.room(asked.Times(2), now))
}

// let gives a request its place.
func (l *Lane) let(p *Place, now time.Time) {
	if p.at = now; p.dryRun {
		return
	}
	l.places = append(l.places, p)
	if l.sum == nil {
		l.sum = amount.List{}
	}
	for name, value := range p.asked {
		l.sum[name] = amount.Add(l.sum[name], value)
	}
}

// drop takes the place of a request from it, if it has it still.
func (l *Lane) drop(p *Place) {
	i := slices.Index(l.places, p)
	if i < 0 {
		return
	}
	for name, value := range p.asked {
		l.sum[name] -= value
	}
	l.places = slices.Delete(l.places, i, i+1)
	if len(l.places) == 0 {
		l.sum = nil
	}
}

// GiveBack takes back the place of a request that does not go on after all.
func (l *Lane) GiveBack(p *Place) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.drop(p)
}

// Share returns the share, nil if there is none.
func (l *Lane) Share() *quotav1alpha1.QuotaShare {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.share
}

// Quota returns the ResourceQuota, nil if there is none.
func (l *Lane) Quota() *corev1.ResourceQuota {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.quota
}

// Waiting returns how many requests wait for room.
func (l *Lane) Waiting() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.waiters)
}

// Pings says whether the hub is to be pinged: a request was held in vain without one, and there was none since.
func (l *Lane) Pings() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.pings
}

// SetShare notes the share. Whatever is new in its spec is a sign of the hub.
func (l *Lane) SetShare(share *quotav1alpha1.QuotaShare, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.share == nil || l.share.UID != share.UID || l.share.Generation != share.Generation {
		l.signs, l.pings = l.signs+1, false
		l.hub.wrote(now)
	}
	if l.share == nil || raised(l.share.Spec.Hard, share.Spec.Hard) {
		l.vain.Forget()
	}
	l.share = share
}

// DeleteShare strikes out the share.
func (l *Lane) DeleteShare() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.share = nil
}

// raised says whether a limit is higher than it was.
func raised(was, is corev1.ResourceList) bool {
	for name, limit := range is {
		if before, limited := was[name]; limited && limit.Cmp(before) > 0 {
			return true
		}
	}
	return false
}

// SetQuota notes the ResourceQuota.
func (l *Lane) SetQuota(quota *corev1.ResourceQuota, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !newer(l.quota, quota) {
		l.see(quota, now)
	}
}

// Refresh notes a ResourceQuota that was read. One that is gone is not noted again: nobody would tell.
func (l *Lane) Refresh(quota *corev1.ResourceQuota, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.quota != nil && l.quota.UID == quota.UID && !newer(l.quota, quota) {
		l.see(quota, now)
	}
}

// newer says whether a ResourceQuota is a later state of the same object than another one: what is read comes before
// what a watch shows.
func newer(a, b *corev1.ResourceQuota) bool {
	if a == nil || b == nil || a.UID != b.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}

// see notes the ResourceQuota, and gives requests that wait a place, in their order.
func (l *Lane) see(quota *corev1.ResourceQuota, now time.Time) {
	l.quota = quota
	if quota == nil {
		l.used, l.hard = nil, nil
	} else {
		used, hard := amount.Saturate(quota.Status.Used, amount.Up), inForce(quota)
		l.seeCharges(used)
		for name, limit := range hard {
			if was, limited := l.hard[name]; limited && limit > was {
				l.raises, l.raised = l.raises+1, now
				break
			}
		}
		l.used, l.hard = used, hard
	}
	l.serve(now)
}

// serve gives those requests that wait a place that there is room for.
func (l *Lane) serve(now time.Time) {
	l.waiters = slices.DeleteFunc(l.waiters, func(w *Waiter) bool {
		if !l.room(w.asked, now) {
			return false
		}
		l.goOn(w, now)
		return true
	})
}

// seeCharges takes the places of requests that went on once usage has risen by what they asked for.
func (l *Lane) seeCharges(used amount.List) {
	risen := amount.Sub(used, l.used)
	for _, p := range slices.Clone(l.places) {
		if !p.Gone || !risen.Covers(p.asked) {
			continue
		}
		for name, value := range p.asked {
			risen[name] -= value
		}
		l.drop(p)
	}
}

// inForce returns what is limited: admission enforces status.hard, and the fence spec.hard. While there is no
// status.hard there is no room.
func inForce(quota *corev1.ResourceQuota) amount.List {
	if fresh(quota) {
		return amount.Saturate(quota.Spec.Hard, amount.Down).Times(0)
	}
	hard := amount.Saturate(quota.Status.Hard, amount.Down)
	for name, limit := range amount.Saturate(quota.Spec.Hard, amount.Down) {
		if current, limited := hard[name]; limited {
			hard[name] = min(current, limit)
		}
	}
	return hard
}

// Raises returns how often a limit went up.
func (l *Lane) Raises() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.raises
}

// CaughtUp notes that the API server judges by so many raises.
func (l *Lane) CaughtUp(raises int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.judged = max(l.judged, raises)
}
