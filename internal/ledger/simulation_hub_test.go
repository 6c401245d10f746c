package ledger_test

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// stored is a version of the hub's objects: the FederatedQuota (budget, ledger) and the Cluster objects (selected,
// marked). It never changes once it is stored.
type stored struct {
	budget   amounts
	counter  int64
	entries  map[string]ledger.Entry
	selected [clusters]bool
	marked   [clusters]int64
	// The entries again, without maps, for the observer.
	in              [clusters]bool
	granted, target [clusters]amounts
}

// hub is the hub's API server: the objects, and every version of them that a backup could bring back.
type hub struct {
	version int
	now     *stored
	past    []*stored
	// highest is the highest revision that any ledger gave.
	highest int64
}

// put stores a new version. A resourceVersion is never given twice, also not after a restore.
func (h *hub) put(next *stored) {
	h.version++
	h.highest = max(h.highest, next.counter)
	h.now = next
	h.past = append(h.past, next)
}

// leader is a hub manager that takes itself for the leader.
type leader struct {
	phase   int
	version int
	base    *stored
	next    *stored
	at      int
	// cache holds the shares as its watches last showed them.
	cache [clusters]share
	// started says whether it has asked the members yet. What follows is known to the observer alone: which of them told it
	// of a rollback then, and whether its decision was taken without that.
	started bool
	warned  [clusters]bool
	blind   bool
}

const (
	leaderReads = iota
	leaderDecides
	leaderStores
	leaderDelivers
)

// stepLeader lets a leader take a few steps of its round. It may be left anywhere, and go on much later.
func (w *world) stepLeader(s step) {
	l := s.who(len(w.leaders))
	for range 1 + s.much(6) {
		w.advance(l, s)
	}
}

func (w *world) advance(i int, s step) {
	l := &w.leaders[i]
	switch l.phase {
	case leaderReads:
		l.base, l.version, l.phase = w.hub.now, w.hub.version, leaderDecides
		w.survey(l)
	case leaderDecides:
		l.next, l.at, l.phase = w.decide(l, s), 0, leaderStores
		if w.without == ledgerBeforeMember {
			w.deliverAll(l)
		}
	case leaderStores:
		w.store(i, l)
	case leaderDelivers:
		if l.at == clusters {
			l.phase = leaderReads
			return
		}
		w.deliver(l, l.at)
		l.at++
	}
}

// survey lets a leader that has just started ask all members that can be reached, before it decides anything.
func (w *world) survey(l *leader) {
	if l.started {
		return
	}
	l.started = true
	for m := range w.members {
		if c := &w.members[m]; c.reachable {
			l.warned[m], l.cache[m] = l.base.outdated(m, c.share), c.share
		}
	}
}

// outdated says whether a share was decided by another ledger than this one.
func (s *stored) outdated(m int, told share) bool {
	revision := s.entries[clusterNames[m]].Revision
	if !told.exists || revision == 0 {
		return false
	}
	return max(told.revision, told.reportedRevision) > revision || told.revision == revision && told.hard != s.target[m]
}

// store is the compare-and-swap of the ledger.
func (w *world) store(i int, l *leader) {
	if w.without == oldDecisionFenced {
		l.version = w.hub.version
	}
	if l.version != w.hub.version {
		w.note("leader %d: conflict", i)
		l.phase = leaderReads
		return
	}
	w.checkRaise(w.hub.now, l.next)
	w.ghost.stores(w.hub.now, l)
	l.next.selected, l.next.marked = w.hub.now.selected, w.hub.now.marked
	w.hub.put(l.next)
	w.note("leader %d stores version %d: %s", i, w.hub.version, l.next)
	l.phase = leaderDelivers
}

// deliver sends the share of a cluster whose cached share is older than the entry.
func (w *world) deliver(l *leader, m int) {
	e, ok := l.next.entries[clusterNames[m]]
	if !ok || l.cache[m].exists && l.cache[m].revision >= e.Revision || e.Revision == 0 {
		return
	}
	w.note("share %d%v of %s is sent", e.Revision, l.next.target[m], clusterNames[m])
	w.wire = append(w.wire, delivery{cluster: m, life: w.members[m].life, revision: e.Revision, hard: l.next.target[m]})
}

func (w *world) deliverAll(l *leader) {
	for m := range clusters {
		w.deliver(l, m)
	}
}

// decide is the round of the controller, up to the write of the ledger.
func (w *world) decide(l *leader, s step) *stored {
	book := ledger.New(l.base.budget.list(), l.base.counter, l.base.entries)
	unread := !hasRead(book)
	w.membership(book, unread)
	l.blind = !w.isWarned(l, book)
	if w.rebuild(l, book) || unread {
		w.continueAbove(book)
	}
	w.adopt(l, book)
	for m, cluster := range clusterNames {
		w.settle(l, book, m, cluster)
	}
	book = w.forget(book)
	book.Steer(w.targets(l, s), func(cluster string, name corev1.ResourceName) bool { return w.mayRaise(l, cluster, name) })
	return w.freeze(l.base, book)
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

// membership joins who is selected, and drops who is not: somebody said that the cluster is destroyed, true or not.
func (w *world) membership(book *ledger.Ledger, unread bool) {
	for m, cluster := range clusterNames {
		if w.hub.now.selected[m] {
			book.Join(cluster, unread && w.hub.now.marked[m] > 0 && w.without != unreadMayHold)
		} else {
			book.Gone(cluster)
		}
	}
}

// isWarned says whether a member of the ledger told the leader of a rollback when it started.
func (w *world) isWarned(l *leader, book *ledger.Ledger) bool {
	for m, cluster := range clusterNames {
		if _, ok := book.Entry(cluster); ok && l.warned[m] {
			return true
		}
	}
	return false
}

// rebuild looks for a rollback in the cached shares.
func (w *world) rebuild(l *leader, book *ledger.Ledger) bool {
	highest := int64(0)
	for m, cluster := range clusterNames {
		if seen := l.cache[m].adoptable(); seen != nil && (book.RolledBack(cluster, *seen) || l.isAhead(cluster, *seen)) {
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

// continueAbove makes the counter go on above what is marked, also on clusters that are not selected any more.
func (w *world) continueAbove(book *ledger.Ledger) {
	for _, marker := range w.hub.now.marked {
		book.Continue(marker)
	}
}

// adopt reads live the share of every cluster that was never read.
func (w *world) adopt(l *leader, book *ledger.Ledger) {
	var adopted [clusters]bool
	for m, cluster := range clusterNames {
		e, ok := book.Entry(cluster)
		if !ok || e.Revision > 0 || !w.members[m].reachable {
			continue
		}
		l.cache[m] = w.members[m].share
		book.Adopt(cluster, l.cache[m].adoptable())
		adopted[m] = true
	}
	w.mark(adopted, book.Revision()-l.base.counter >= ledger.Gap, w.revision(book.Revision()))
}

// mark notes the counter on the Cluster objects that were adopted, before anything is installed or delivered; on all that
// have a marker, if the counter has jumped: the next ledger that is lost must not count from before the jump.
func (w *world) mark(adopted [clusters]bool, jumped bool, counter int64) {
	marked := *w.hub.now
	for m := range clusters {
		if adopted[m] || jumped && marked.marked[m] > 0 {
			marked.marked[m] = max(marked.marked[m], counter)
		}
	}
	if marked.marked != w.hub.now.marked {
		w.hub.now = &marked // another object than the FederatedQuota, whose version stays
		w.hub.past = append(w.hub.past, w.hub.now)
	}
}

// settle takes the report of a cluster, and asks anew where a limit is below what the entry says.
func (w *world) settle(l *leader, book *ledger.Ledger, m int, cluster string) {
	e, ok := book.Entry(cluster)
	if !ok {
		return
	}
	report := w.distort(l.cache[m].report(), e, w.members[m].reachable)
	book.Settle(cluster, report)
	if book.Disagrees(cluster, report) {
		book.Confirm(cluster)
	}
}

func (w *world) mayRaise(l *leader, cluster string, name corev1.ResourceName) bool {
	m := int(cluster[0] - 'a')
	_, known := l.cache[m].report().Used[name]
	return w.members[m].reachable && l.cache[m].reportedRevision > 0 && known
}

// targets draws a target for every cluster and name; every fourth time the static one, which all can reach.
func (w *world) targets(l *leader, s step) []ledger.Target {
	targets := make([]ledger.Target, 0, clusters)
	for i := range clusters {
		m := (i + s.other(clusters)) % clusters
		if !l.base.selected[m] {
			continue
		}
		t := make(amount.List, resources)
		for n, budget := range l.base.budget {
			if budget == absent {
				continue
			}
			t[resourceNames[n]] = budget / clusters
			if s.other(4) != 0 {
				t[resourceNames[n]] = int64(s>>(7+3*m+5*n)) % (budget + 1)
			}
		}
		targets = append(targets, ledger.Target{Cluster: clusterNames[m], Amounts: t})
	}
	return targets
}

// freeze makes a decision a version to store.
func (w *world) freeze(base *stored, book *ledger.Ledger) *stored {
	next := &stored{budget: base.budget, counter: w.revision(book.Revision()), entries: make(map[string]ledger.Entry, clusters)}
	for m, cluster := range clusterNames {
		e, ok := book.Entry(cluster)
		if !ok {
			continue
		}
		e.Revision = w.revision(e.Revision)
		next.entries[cluster] = e
		next.in[m] = true
		next.granted[m], next.target[m] = flat(e.Granted), flat(e.Target)
	}
	return next
}
