package ledger

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Join adds an entry for a child that was not in the ledger. A child that may already hold a share may hold
// anything until it has confirmed, so nobody is raised before; one that cannot hold a share counts zero. What a child
// may hold that was never told anything can turn out later, but never the other way round.
func (l *Ledger) Join(child string, mayHoldShare bool) {
	e, ok := l.entries[child]
	if !ok {
		e = Entry{Granted: zero(l.budget), Target: zero(l.budget)}
	}
	if mayHoldShare && e.Revision == 0 {
		e.Granted = unknown(amount.Max(l.budget, e.Granted))
	}
	l.entries[child] = e
	l.sums = nil
}

// unknown returns a list with the names of like, of which any amount may be held.
func unknown(like amount.List) amount.List {
	list := make(amount.List, len(like))
	for name := range like {
		list[name] = Unknown
	}
	return list
}

// Gap is what the counter skips after a ledger that was lost: more than any ledger decides in a second, or before the
// next marker. Its decisions may still be on their way, of revisions that nobody has seen: all must be older than ours.
const Gap = 1 << 20

// MostRevision is above all revisions that a ledger gives in a lifetime, and so far below the highest one that a share
// can have that the counter may go on from it. A higher one was written by somebody else.
const MostRevision = 1 << 52

// Epoch returns the revision from which a ledger counts on that finds now that another one was lost: a gap for each
// second. So two ledgers give the same revisions only if the clock was put back between them. It is 0 for a time that
// no clock should show.
func Epoch(now time.Time) int64 {
	if second := now.Unix(); 0 < second && second < MostRevision/Gap {
		return second * Gap
	}
	return 0
}

// Continue makes the counter go on above a revision that another ledger gave, and in the present epoch. Shares tell of
// such a revision, and the markers on Cluster objects, less than a gap behind the counter: they stay when a share is
// deleted.
func (l *Ledger) Continue(above int64) {
	if above > 0 && above >= l.revision {
		l.revision = max(above+Gap, l.epoch)
	}
}

// First is a revision that no share has: that of a ledger which has decided nothing. 0 is that of one which was lost.
const First = 1

// Begin gives a ledger that has given no revision yet the first one.
func (l *Ledger) Begin() { l.revision = max(l.revision, First) }

// Share is what was read of the share of a child.
type Share struct {
	// Revision and Hard are what the child is told.
	Revision int64
	Hard     amount.List
	// InForce is the revision that the child reports. It is the higher one where a share was deleted, and an older one
	// put in its place.
	InForce int64
}

// highest returns the highest revision that the share shows.
func (s Share) highest() int64 { return max(s.Revision, s.InForce) }

// Adopt takes what was read live of a child that joined: its share, or nil if it has none. Either way the entry gets a
// revision above all that was seen. A child that cannot have held a share is told to enforce zero first, so that its
// usage is learned before anything is handed out. So is one that was suspected of a share: its API server has shown
// that it holds none. One that holds a share may be enforcing anything until it confirms. It keeps the limit that it
// was told if it says that this is in force; a share that is not may be an old one, put in the place of another, and
// what it says may have been given to others since.
func (l *Ledger) Adopt(child string, share *Share) {
	e, ok := l.entries[child]
	if !ok || e.Revision != 0 {
		return
	}
	if share == nil {
		e.Granted = zero(l.budget)
	} else {
		l.Continue(share.highest())
		e.Granted = unknown(amount.Max(l.budget, e.Granted))
	}
	if share != nil && share.InForce == share.Revision {
		for name := range l.budget {
			e.Target[name] = share.Hard[name]
		}
	}
	l.sums = nil
	l.next(child, e)
}

// Enter adds an entry for a child that raises nothing until it has taken the entry up: all that it has granted itself
// counts, even into debt, and it keeps the target. An entry that it had is replaced.
func (l *Ledger) Enter(child string, granted, target amount.List) {
	e := Entry{Granted: zero(l.budget), Target: zero(l.budget)}
	for name := range l.budget {
		e.Granted[name] = granted[name]
		e.Target[name] = min(target[name], granted[name])
	}
	l.sums = nil
	l.next(child, e)
}

// Raise grants a child x more of name, or as much of it as is free, and makes all it has the target. It returns what
// was added: zero while there is debt, or while the child was never read.
func (l *Ledger) Raise(child string, name corev1.ResourceName, x int64) int64 {
	e, ok := l.entries[child]
	x = min(x, l.Free(name))
	if !ok || e.Revision == 0 || x <= 0 {
		return 0
	}
	e.Granted[name] += x
	l.sums[name] += x
	e.Target[name] = e.Granted[name]
	l.next(child, e)
	return x
}

// Restore moves the target up within what is granted anyway: it was never released. While there is debt nothing is
// restored: what is granted may be usage that was found then, or what nobody knows, and was never this child's to
// have again.
func (l *Ledger) Restore(child string, name corev1.ResourceName, target int64) {
	l.retarget(child, name, target, func(e Entry) bool {
		return target > e.Target[name] && target <= e.Granted[name] && l.Debt(name) == 0
	})
}

// Lower moves the target down. What is granted stays until the child reports the new revision in force.
func (l *Ledger) Lower(child string, name corev1.ResourceName, target int64) {
	l.retarget(child, name, target, func(e Entry) bool { return target < e.Target[name] && target >= 0 })
}

func (l *Ledger) retarget(child string, name corev1.ResourceName, target int64, allowed func(Entry) bool) {
	e, ok := l.entries[child]
	if _, counted := l.budget[name]; !ok || !counted || e.Revision == 0 || !allowed(e) {
		return
	}
	e.Target[name] = target
	l.next(child, e)
}

// Hear takes a report: a confirmation of the entry's own revision brings granted to what is in force or used, yet not
// below the target, which the share entitles the child to. An older report changes nothing, except that more than
// granted was seen in it: that is charged. A name that is not counted there releases nothing of what is known to be
// granted: it may be counted yet. Where nobody knows what is granted, its limit does for an answer, since nothing can
// come to be used. A name of which the ledger knows nothing, and that is in force at its revision, was written by a
// ledger that was lost: it counts until the child has dropped it, as one that left the budget.
func (l *Ledger) Hear(child string, report Report) {
	e, ok := l.entries[child]
	if !ok || e.Revision == 0 || report.Revision > e.Revision {
		return
	}
	l.sums = nil
	confirmed := e.confirmedBy(report)
	for name := range e.Granted {
		held, known := report.inUse(name)
		_, budgeted := l.budget[name]
		switch {
		case known && confirmed:
			e.Granted[name] = max(held, e.Target[name])
		case known:
			e.Granted[name] = max(held, e.Granted[name])
		case confirmed && !budgeted:
			delete(e.Granted, name)
		case e.barredBy(report, name):
			e.Granted[name] = e.Target[name]
		}
	}
	e.charge(report)
}

// charge counts what a report of the entry's own revision shows of names that nothing is known of.
func (e Entry) charge(report Report) {
	if !e.confirmedBy(report) {
		return
	}
	for name := range report.Hard {
		if _, counted := e.Granted[name]; counted {
			continue
		}
		if held, known := report.inUse(name); known {
			e.Granted[name] = held
		}
	}
}

// barredBy says whether a report without usage of name, of which nobody knows what is granted, shows that none can come
// into use beyond the target: a limit is in force at the entry's own revision.
func (e Entry) barredBy(report Report, name corev1.ResourceName) bool {
	hard, limited := report.Hard[name]
	return e.confirmedBy(report) && e.Granted[name] == Unknown && limited && hard <= e.Target[name]
}

// Confirm gives an entry a new revision and leaves its numbers: whoever reports that revision has seen this write.
func (l *Ledger) Confirm(child string) {
	if e, ok := l.entries[child]; ok && e.Revision > 0 {
		l.next(child, e)
	}
}

// Disagrees says whether a report of the entry's own revision shows a limit below the target, or one that the entry
// does not have. Another ledger decided that under the same revision, or somebody changed it: the child cannot get
// from there to the target within the revision, and is to be asked anew, by Confirm.
func (l *Ledger) Disagrees(child string, report Report) bool {
	e, ok := l.entries[child]
	if !ok || !e.confirmedBy(report) {
		return false
	}
	for name, hard := range report.Hard {
		if target, told := e.Target[name]; !told || hard < target {
			return true
		}
	}
	return false
}

// RolledBack says whether a share seen in a child was decided by another ledger than this one, which was restored
// from the past then: its revision is higher than the entry's, or it is the same and the limits are not.
func (l *Ledger) RolledBack(child string, seen Share) bool {
	e, ok := l.entries[child]
	if !ok || e.Revision == 0 {
		return false
	}
	return seen.highest() > e.Revision || seen.Revision == e.Revision && !seen.Hard.Equal(e.Target)
}

// Rebuild continues above the highest revision seen after a rollback. Every entry may be out of date, so every child
// counts as unread, and may hold anything, also of a name that has left the budget and may come back: it is to be
// adopted anew, and until it has confirmed that nobody is raised.
func (l *Ledger) Rebuild(highest int64) {
	l.sums = nil
	l.Continue(max(highest, l.revision+1)) // decisions of the lost ledger may be on their way, whatever was seen of it
	for child, e := range l.entries {
		l.entries[child] = Entry{Granted: unknown(amount.Max(l.budget, e.Granted)), Target: zero(l.budget)}
	}
}

// Vacate takes back all that was granted to a child that has no place to hold it: the namespace or the kind does not
// exist there, so no share and no limit can be in force. One that was never told anything is told nothing.
func (l *Ledger) Vacate(child string) {
	e, ok := l.entries[child]
	if !ok || !l.Holds(child) {
		return
	}
	l.sums = nil
	e.Granted, e.Target = zero(l.budget), zero(l.budget)
	if e.Revision == 0 {
		l.entries[child] = e
		return
	}
	l.next(child, e)
}

// Gone removes the entry: the child has reported its share gone, or somebody with the right to say so stated that the
// child is destroyed.
func (l *Ledger) Gone(child string) {
	delete(l.entries, child)
	l.sums = nil
}

// Holds says whether anything is granted to the child.
func (l *Ledger) Holds(child string) bool {
	for _, value := range l.entries[child].Granted {
		if value > 0 {
			return true
		}
	}
	return false
}

// Steer takes all decisions of a round: it moves every child towards its target, donors first, and raises out of what
// is free, in the order given. A child is raised only where mayRaise agrees. A target for a child without an entry
// is ignored.
func (l *Ledger) Steer(targets []Target, mayRaise func(child string, name corev1.ResourceName) bool) {
	for _, t := range targets {
		e := l.entries[t.Child]
		for _, name := range t.Amounts.Names() {
			within := min(t.Amounts[name], e.Granted[name])
			l.Lower(t.Child, name, within)
			l.Restore(t.Child, name, within)
		}
	}
	for _, t := range targets {
		for _, name := range t.Amounts.Names() {
			if missing := t.Amounts[name] - l.entries[t.Child].Granted[name]; missing > 0 && mayRaise(t.Child, name) {
				l.Raise(t.Child, name, missing)
			}
		}
	}
}

// Target is what a child's limits shall become.
type Target struct {
	Child   string
	Amounts amount.List
}
