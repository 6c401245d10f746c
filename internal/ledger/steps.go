package ledger

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Join adds an entry for a cluster that was not in the ledger. A cluster that may already hold a share counts with the
// whole budget until it is read, so nobody is raised before; one that cannot hold a share counts zero.
func (l *Ledger) Join(cluster string, mayHoldShare bool) {
	if _, ok := l.entries[cluster]; ok {
		return
	}
	e := Entry{Granted: zero(l.budget), Target: zero(l.budget)}
	if mayHoldShare {
		e.Granted = l.budget.Clone()
	}
	l.entries[cluster] = e
}

// Share is what was read from a member's API server of the share of a cluster that joined.
type Share struct {
	Revision int64
	Hard     amount.List
}

// Adopt takes what was read live of a cluster that joined: its share, or nil if it has none. Either way the entry gets a
// revision above all that was seen. A cluster without a share holds nothing; it is told to enforce zero first, so that
// its usage is learned before anything is handed out. A cluster with a share keeps the limit that it was told, and counts
// with the whole budget until it confirms: what it enforces may be older than what it was told.
func (l *Ledger) Adopt(cluster string, share *Share) {
	e, ok := l.entries[cluster]
	if !ok || e.Revision != 0 {
		return
	}
	e.Granted = zero(l.budget)
	if share != nil {
		l.revision = max(l.revision, share.Revision)
		e.Granted = amount.Max(l.budget, share.Hard)
		for name := range l.budget {
			e.Target[name] = share.Hard[name]
		}
	}
	l.next(cluster, e)
}

// Raise grants a cluster x more of name, or as much of it as is free, and makes all it has the target. It returns what was
// added: zero while there is debt, or while the cluster was never read.
func (l *Ledger) Raise(cluster string, name corev1.ResourceName, x int64) int64 {
	e, ok := l.entries[cluster]
	x = min(x, l.Free(name))
	if !ok || e.Revision == 0 || x <= 0 {
		return 0
	}
	e.Granted[name] += x
	e.Target[name] = e.Granted[name]
	l.next(cluster, e)
	return x
}

// Restore moves the target up within what is granted anyway: it was never released.
func (l *Ledger) Restore(cluster string, name corev1.ResourceName, target int64) {
	l.retarget(cluster, name, target, func(e Entry) bool { return target > e.Target[name] && target <= e.Granted[name] })
}

// Lower moves the target down. What is granted stays until the cluster reports the new revision in force.
func (l *Ledger) Lower(cluster string, name corev1.ResourceName, target int64) {
	l.retarget(cluster, name, target, func(e Entry) bool { return target < e.Target[name] && target >= 0 })
}

func (l *Ledger) retarget(cluster string, name corev1.ResourceName, target int64, allowed func(Entry) bool) {
	e, ok := l.entries[cluster]
	if _, counted := l.budget[name]; !ok || !counted || e.Revision == 0 || !allowed(e) {
		return
	}
	e.Target[name] = target
	l.next(cluster, e)
}

// Settle takes a report: a confirmation of the entry's own revision brings granted to what is in force or used, yet not
// below the target, which the share entitles the cluster to. An older report changes nothing, except that more than
// granted was seen in it: that is charged.
func (l *Ledger) Settle(cluster string, report Report) {
	e, ok := l.entries[cluster]
	if !ok || e.Revision == 0 || report.Revision > e.Revision {
		return
	}
	confirmed := e.confirmedBy(report)
	for name := range e.Granted {
		held, known := report.inUse(name)
		_, counted := l.budget[name]
		switch {
		case known && confirmed:
			e.Granted[name] = max(held, e.Target[name])
		case known:
			e.Granted[name] = max(held, e.Granted[name])
		case confirmed && !counted:
			delete(e.Granted, name)
		}
	}
}

// Confirm gives an entry a new revision and leaves its numbers: whoever reports that revision has seen this write.
func (l *Ledger) Confirm(cluster string) {
	if e, ok := l.entries[cluster]; ok && e.Revision > 0 {
		l.next(cluster, e)
	}
}

// RolledBack says whether a revision seen in a cluster is higher than the one that the ledger knows for it: the ledger was
// restored from the past.
func (l *Ledger) RolledBack(cluster string, seen int64) bool {
	e, ok := l.entries[cluster]
	return ok && e.Revision > 0 && seen > e.Revision
}

// Rebuild continues above the highest revision seen after a rollback. Every entry may be out of date, so every cluster
// counts as unread, with the whole budget at least: it is to be adopted anew, and until it has confirmed that nobody is
// raised.
func (l *Ledger) Rebuild(highest int64) {
	l.revision = max(l.revision, highest)
	for cluster, e := range l.entries {
		l.entries[cluster] = Entry{Granted: amount.Max(e.Granted, l.budget), Target: zero(l.budget)}
	}
}

// Gone removes the entry: the cluster has reported its share gone, or somebody with the right to say so stated that the
// cluster is destroyed.
func (l *Ledger) Gone(cluster string) { delete(l.entries, cluster) }

// Holds says whether anything is granted to the cluster.
func (l *Ledger) Holds(cluster string) bool {
	for _, value := range l.entries[cluster].Granted {
		if value > 0 {
			return true
		}
	}
	return false
}

// Steer takes all decisions of a round: it moves every cluster towards its target, donors first, and raises out of what is
// free, in the order given. A cluster is raised only where mayRaise agrees. A target for a cluster without an entry is ignored.
func (l *Ledger) Steer(targets []Target, mayRaise func(cluster string, name corev1.ResourceName) bool) {
	for _, t := range targets {
		e := l.entries[t.Cluster]
		for _, name := range t.Amounts.Names() {
			within := min(t.Amounts[name], e.Granted[name])
			l.Lower(t.Cluster, name, within)
			l.Restore(t.Cluster, name, within)
		}
	}
	for _, t := range targets {
		for _, name := range t.Amounts.Names() {
			if missing := t.Amounts[name] - l.entries[t.Cluster].Granted[name]; missing > 0 && mayRaise(t.Cluster, name) {
				l.Raise(t.Cluster, name, missing)
			}
		}
	}
}

// Target is what a cluster's limits shall become.
type Target struct {
	Cluster string
	Amounts amount.List
}
