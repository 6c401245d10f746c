package demand

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

// refusal is what was seen of an owner's requests that did not fit a share.
type refusal struct {
	pod  *signature.Signature // of the last pod, nil if it was about other objects
	unit amount.List          // what one request asked for
	held amount.List          // what the requests ask for that are held now
	open int                  // how many they are
	peak amount.List          // the most that was held at a time, less what was admitted since
	seen time.Time
}

// strike strikes out what was seen of an owner's requests that did not fit a share.
func (ns *namespace) strike(share string, owner Owner) {
	delete(ns.refusals[share], owner)
	if len(ns.refusals[share]) == 0 {
		delete(ns.refusals, share)
	}
}

// Hold notes a request that does not fit a share, for a pod of a signature or, without one, for something else, and
// says whether it is asked for: not if no node has room for it. The caller ends it by End.
func (b *Book) Hold(
	share types.NamespacedName, owner Owner, pod *signature.Signature, asked amount.List, now time.Time,
) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns := b.namespace(share.Namespace)
	if ns.refusals[share.Name] == nil {
		ns.refusals[share.Name] = map[Owner]*refusal{}
	}
	ns.follow(share.Name, owner, pod, asked, now)
	r, known := ns.refusals[share.Name][owner]
	if !known || r.open == 0 && now.Sub(r.seen) >= pace.Memory {
		r = &refusal{}
		ns.refusals[share.Name][owner] = r
	}
	if w, ok := ns.workloads[owner.UID]; ok {
		w.ask(share.Name, asked)
		delete(w.room, share.Name)
	}
	r.seen, r.unit, r.open, r.pod = now, asked, r.open+1, pod
	r.held = amount.Sum(r.held, asked)
	r.peak = amount.Max(r.peak, r.held)
	return !ns.full(owner, pod, now)
}

// End notes what became of a request: it goes on with room for it, or it is denied.
func (b *Book) End(share types.NamespacedName, owner Owner, asked amount.List, fits bool, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	ns := b.namespace(share.Namespace)
	r, known := ns.refusals[share.Name][owner]
	if !known {
		return
	}
	r.seen, r.open, r.held = now, r.open-1, amount.Sub(r.held, asked)
	if h := ns.habitOf(share.Name, owner, asked); h != nil {
		h.End(fits)
	}
	if !fits {
		if w, ok := ns.workloads[owner.UID]; ok {
			w.denied, w.lacked = share.Name, nil
			w.ask(share.Name, r.unit) // it may not have been known yet when it asked
		}
		return
	}
	r.peak = amount.Sub(r.peak, asked)
	if r.open == 0 && r.peak.IsZero() {
		ns.strike(share.Name, owner)
	}
}

// Admitted notes that a request fits at once, maybe one that was refused before, and says whether that changes
// anything.
func (b *Book) Admitted(share types.NamespacedName, owner Owner, asked amount.List, now time.Time) bool {
	if !b.refused(share, owner) && !b.followed(share) {
		return false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	ns := b.namespace(share.Namespace)
	if h := ns.habitOf(share.Name, owner, asked); h != nil {
		h.Come(now)
		h.End(true)
	}
	r, known := ns.refusals[share.Name][owner]
	if !known {
		return false
	}
	before := r.peak
	r.peak = amount.Max(amount.Sub(r.peak, asked), r.held)
	if r.open == 0 && r.peak.IsZero() {
		ns.strike(share.Name, owner)
	}
	return !r.peak.Equal(before)
}

// refused says whether a request of the owner is noted that did not fit a share. Every request that fits asks this.
func (b *Book) refused(share types.NamespacedName, owner Owner) bool {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return false
	}
	_, refused := ns.refusals[share.Name][owner]
	return refused
}

// Refused says whether requests are noted that did not fit a share.
func (b *Book) Refused(share types.NamespacedName) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	return known && len(ns.refusals[share.Name]) > 0
}

// Shares returns those that requests did not fit.
func (b *Book) Shares() []types.NamespacedName {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var shares []types.NamespacedName
	for name, ns := range b.namespaces {
		for share := range ns.refusals {
			shares = append(shares, types.NamespacedName{Namespace: name, Name: share})
		}
	}
	return shares
}
