package ledger_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// decide is the round of the controller, up to the write of the ledger.
func (w *world) decide(l *leader, s step) {
	book := ledger.New(l.base.budget.list(), l.base.counter, l.base.entries)
	unread := !hasRead(book)
	w.observe(l, book, unread)
	l.blind = !w.isWarned(l, book)
	rebuilt := w.rebuild(l, book)
	if rebuilt || unread {
		book.Continue(slices.Max(l.marked[:])) // also of clusters that are not selected any more
	}
	suspected := l.base.suspected
	if !unread || slices.Contains(l.selected[:], true) {
		for m := range clusters {
			suspected[m] = w.join(l, book, m, unread, rebuilt) || suspected[m]
		}
		for m := range clusters {
			if !rebuilt {
				w.adopt(l, book, m, suspected[m])
			}
		}
	}
	for m, cluster := range clusterNames {
		w.settle(l, book, m, cluster)
	}
	for m, cluster := range clusterNames {
		if w.gone(l, book, m, suspected[m]) {
			book.Gone(cluster)
		}
	}
	book = w.forget(book)
	book.Steer(w.targets(l, s), func(cluster string, name corev1.ResourceName) bool { return w.mayRaise(l, cluster, name) })
	w.freeze(l, book, suspected)
}

// hasRead says whether any cluster was ever read. Otherwise the ledger is new, or was lost.
func hasRead(book *ledger.Ledger) bool {
	for _, cluster := range book.Clusters() {
		if e, _ := book.Entry(cluster); e.Revision > 0 {
			return true
		}
	}
	return false
}

// observe reads the shares of all who are selected, in the ledger, or may hold one all the same. What an entry is founded on, or ends
// by, is read live.
func (w *world) observe(l *leader, book *ledger.Ledger, unread bool) {
	l.selected, l.marked = w.hub.now.selected, w.hub.now.marked
	for m, cluster := range clusterNames {
		l.lives[m] = w.members[m].life
		e, ok := book.Entry(cluster)
		concerned := ok || l.selected[m] || l.holds[m] || unread && l.marked[m] > 0
		live := !ok || e.Revision == 0 || !l.selected[m]
		l.read[m] = concerned && (!live || w.members[m].reachable)
		if l.read[m] && live {
			l.look(m, w.members[m].share)
		}
		l.shares[m] = share{}
		if l.read[m] {
			l.shares[m] = l.cache[m]
		}
		l.bare[m] = l.read[m] && !l.shares[m].exists && w.members[m].reachable && w.members[m].bare
		l.bereft[m] = nil
		if q := &w.members[m].quota; l.read[m] && live && q.managed && w.without != bereftCounts {
			l.bereft[m] = &ledger.Share{InForce: q.revision}
		}
	}
}

// join adds entries for a cluster that is selected, or may hold a share, and says whether it is suspected only. One that somebody
// said to be destroyed, true or not, waits for nobody.
func (w *world) join(l *leader, book *ledger.Ledger, m int, unread, rebuilt bool) bool {
	_, known := book.Entry(clusterNames[m])
	mayHold := (unread || rebuilt) && l.marked[m] > 0
	switch {
	case l.base.destroyed[m]:
		return false
	case l.selected[m]:
		mayHold = mayHold || rebuilt
		book.Join(clusterNames[m], mayHold && w.without != unreadMayHold)
	case l.told(m) != nil:
		book.Join(clusterNames[m], true)
		return false
	case mayHold && !l.read[m]:
		book.Join(clusterNames[m], true)
	default:
		return false
	}
	return mayHold && !known
}

// gone says whether the entry of a cluster goes: it was given up, was never told anything, or has no share any more, as it was told.
func (w *world) gone(l *leader, book *ledger.Ledger, m int, suspected bool) bool {
	e, ok := book.Entry(clusterNames[m])
	switch {
	case !ok || l.base.destroyed[m]:
		return ok
	case l.selected[m]:
		return false
	case e.Revision == 0 && !book.Holds(clusterNames[m]):
		return true
	}
	told := l.base.noted[m] || suspected || l.bare[m] || w.without == removalNoted
	return l.read[m] && l.told(m) == nil && told
}

// isWarned says whether a member of the ledger told the leader of a rollback when it started, and is not cut off since.
func (w *world) isWarned(l *leader, book *ledger.Ledger) bool {
	for m, cluster := range clusterNames {
		if _, ok := book.Entry(cluster); ok && l.warned[m] && l.read[m] {
			return true
		}
	}
	return false
}

// rebuild looks for a rollback in the shares.
func (w *world) rebuild(l *leader, book *ledger.Ledger) bool {
	highest := int64(0)
	for m, cluster := range clusterNames {
		if seen := l.told(m); seen != nil && (book.RolledBack(cluster, *seen) || l.isAhead(cluster, *seen)) {
			highest = max(highest, seen.Revision, seen.InForce)
		}
	}
	if highest == 0 || w.without == rebuilding {
		return false
	}
	w.note("rollback seen: %d", highest)
	book.Rebuild(highest)
	return true
}

// isAhead is that of the controller: a name that came into the budget has given the entry a revision of this round, which may be the
// one that the share has of another ledger.
func (l *leader) isAhead(cluster string, seen ledger.Share) bool {
	stored := l.base.entries[cluster].Revision
	return stored > 0 && max(seen.Revision, seen.InForce) > stored
}

// adopt takes what was read live of a cluster that was never read before. One that was suspected, and holds nothing, shall have nothing.
func (w *world) adopt(l *leader, book *ledger.Ledger, m int, suspected bool) {
	e, ok := book.Entry(clusterNames[m])
	cleared := suspected && !l.selected[m] && l.told(m) == nil
	if ok && e.Revision == 0 && l.read[m] && !cleared && !l.base.destroyed[m] {
		book.Adopt(clusterNames[m], l.told(m))
	}
}

// settle takes the report of a cluster, and asks anew where a limit is below what the entry says.
func (w *world) settle(l *leader, book *ledger.Ledger, m int, cluster string) {
	e, ok := book.Entry(cluster)
	if !ok {
		return
	}
	if l.bare[m] {
		book.Vacate(cluster)
		return
	}
	report := w.distort(l.shares[m].report(), e, w.members[m].reachable)
	book.Settle(cluster, report)
	if book.Disagrees(cluster, report) {
		book.Confirm(cluster)
	}
}

func (w *world) mayRaise(l *leader, cluster string, name corev1.ResourceName) bool {
	m := int(cluster[0] - 'a')
	_, known := l.shares[m].report().Used[name]
	return l.selected[m] && w.members[m].reachable && l.shares[m].reportedRevision > 0 && known
}

// targets draws a target for every cluster and name; every fourth time the static one, which all can reach. Who leaves gives all back.
func (w *world) targets(l *leader, s step) []ledger.Target {
	targets := make([]ledger.Target, 0, clusters)
	for i := range clusters {
		m := (i + s.other(clusters)) % clusters
		t := make(amount.List, resources)
		for n, budget := range l.base.budget {
			switch {
			case budget == absent:
			case !l.selected[m]:
				t[resourceNames[n]] = 0
			case s.other(4) != 0:
				t[resourceNames[n]] = int64(s>>(7+3*m+5*n)) % (budget + 1)
			default:
				t[resourceNames[n]] = budget / clusters
			}
		}
		targets = append(targets, ledger.Target{Cluster: clusterNames[m], Amounts: t})
	}
	return targets
}

// freeze makes a decision a version to store.
func (w *world) freeze(l *leader, book *ledger.Ledger, suspected [clusters]bool) {
	next := &stored{
		budget: l.base.budget, destroyed: l.base.destroyed,
		counter: w.revision(book.Revision()), entries: make(map[string]ledger.Entry, clusters),
	}
	for m, cluster := range clusterNames {
		e, ok := book.Entry(cluster)
		if !ok {
			continue
		}
		e.Revision = w.revision(e.Revision)
		next.entries[cluster] = e
		next.in[m] = true
		next.suspected[m] = suspected[m] && e.Revision == 0
		next.granted[m], next.target[m] = flat(e.Granted), flat(e.Target)
	}
	l.next = next
	for m, cluster := range clusterNames {
		l.drained[m] = book.Drained(cluster, l.shares[m].report())
		next.noted[m] = next.in[m] && w.removal(l, m)
	}
}

// removal says whether the share of a cluster that leaves was told what shall become of the quota.
func (w *world) removal(l *leader, m int) bool {
	switch {
	case l.selected[m]:
		return false
	case l.shares[m].exists:
		return l.shares[m].removal && w.leaves(l, m)
	}
	return l.base.noted[m]
}
