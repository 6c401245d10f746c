package shares_test

import (
	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/shares"
)

// own has somebody change a limit that is no agent's.
func (w *world) own(s step) {
	m, n := s.who(clusters), s.other(resources)
	if q := &w.members[m].quota; q.foreign {
		q.spec[n] = s.much(8)
		q.status[n] = q.spec[n]
		q.version++
		w.note("%s has another limit of somebody else: %v", clusterNames[m], q.spec)
	}
}

// covered says whether all that is limited is limited by the share, too.
func covered(limits, hard amounts) bool {
	for n, limit := range limits {
		if limit != absent && hard[n] == absent {
			return false
		}
	}
	return true
}

// mayTakeOver says whether the share that was read allows to take over the quota that was.
func (a *agent) mayTakeOver() bool {
	for n, limit := range a.quota.spec {
		if limit > a.share.allowedLimit[n] {
			return false
		}
	}
	return a.share.allowed && covered(a.quota.spec, a.share.hard)
}

// mark has an agent say on a quota of somebody else that it takes that over, and look again before it does; or no more.
func (w *world) mark(m int, a *agent, marked bool) outcome {
	q := &w.members[m].quota
	if a.quota.marked == marked {
		return enforced
	}
	if a.quota.outdated(q) {
		return conflicts
	}
	q.marked = marked
	q.version++
	w.note("%s marks its quota: %v", clusterNames[m], marked)
	return conflicts
}

// takesOver notes what a limit of somebody else lets be used that is taken over: nobody knew of that when the budget was
// handed out.
func (w *world) takesOver(m int, revision int64) {
	c := &w.members[m]
	w.ghost.retaken[m] = revision
	for n := range resources {
		w.ghost.found(m, n, max(c.running[n], c.quota.used[n], c.quota.status[n]))
	}
}

// saysOfOthers adds to what a share says what it says of limits of others.
func (w *world) saysOfOthers(told *share, s *shares.Share) {
	if !w.taking {
		return
	}
	s.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	if told.found {
		s.Found = &shares.Found{UID: "found", Hard: told.foundLimit.list(), Used: told.foundUsed.list()}
	}
	if told.allowed {
		s.TakeOver = &shares.TakeOver{UID: "found", Hard: told.allowedLimit.list()}
	}
}
