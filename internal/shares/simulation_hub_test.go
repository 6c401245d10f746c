package shares_test

import (
	"time"

	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// stored is a version of the hub's objects: the FederatedQuota (budget, who is destroyed, ledger) and the Cluster
// objects (selected, marked). It never changes once it is stored.
type stored struct {
	budget amounts
	// halted says that the spec cannot be acted on, and hard is the budget of the ledger, which it keeps then. known says
	// that a hub manager has met the FederatedQuota.
	halted, known bool
	// removing says that the FederatedQuota is being deleted, gone that there is none.
	removing, gone bool
	hard           amounts
	counter        int64
	entries        map[string]ledger.Entry
	selected       [clusters]bool
	destroyed      [clusters]bool
	marked         [clusters]int64
	// noted says of an entry that its share was told what shall become of the quota, and suspected that it is there since
	// the cluster is marked and could not be asked.
	noted, suspected [clusters]bool
	// The entries again, without maps, for the observer.
	in              [clusters]bool
	granted, target [clusters]amounts
}

// hub is the hub's API server: the objects, and every version of them that a backup could bring back.
type hub struct {
	version int
	now     *stored
	past    []*stored
}

// put stores a new version. A resourceVersion is never given twice, also not after a restore.
func (h *hub) put(next *stored) {
	h.version++
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
	// cache holds the shares as its watches last showed them, and holds says who has one by the last look.
	cache [clusters]share
	holds [clusters]bool
	// What a round knows: whom the Clusters select and which are marked, who could be read, and the shares of those.
	selected [clusters]bool
	marked   [clusters]int64
	read     [clusters]bool
	shares   [clusters]share
	orphan   [clusters]bool
	// looked says which stores it has looked at, and rounds how many rounds it has begun.
	looked [clusters]bool
	rounds int
	// birth is what it knows of the FederatedQuota if it has seen it be created, and doubted says that it has met a member
	// that had seen more than the ledger.
	birth   *shares.Birth
	doubted bool
	// second says that it has seen a FederatedQuota of that name go.
	second bool
	// lives says which cluster of a name the round is about: its writes are for no other.
	lives [clusters]int
	// orders are what it has decided to write, and removed says that there is nothing left to wait for.
	orders  [clusters]shares.Order
	removed bool
	// allows are what it has decided that agents may take over.
	allows [clusters]*shares.TakeOver
	// started says whether it has asked the members yet. What follows is known to the observer alone: which of them told
	// it of a rollback then, whether its decision was taken without that, and whether it had to be a careful one.
	started        bool
	warned         [clusters]bool
	blind, careful bool
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
		if w.hub.now.gone {
			return
		}
		w.meet(l)
		l.base, l.version, l.phase = w.hub.now, w.hub.version, leaderDecides
		w.survey(l, s)
	case leaderDecides:
		w.decide(l, s)
		l.at, l.phase = 0, leaderStores
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

// patience is for how many rounds a leader waits for looks at stores.
const patience = 4

// expects says whether it will soon be known what a member holds, if that can be reached.
func (l *leader) expects(m int) bool { return l.rounds < patience && (!l.looked[m] || l.holds[m]) }

// meet has a leader meet the FederatedQuota. If that was created under its eyes, and no hub manager has met it, there
// was no ledger before.
func (w *world) meet(l *leader) {
	if w.hub.now.known || w.hub.now.removing {
		return
	}
	if l.birth != nil && w.hub.now.counter == 0 {
		begun := *w.hub.now
		begun.counter = ledger.First
		w.hub.put(&begun)
		l.leave(&begun)
	}
	met := *w.hub.now
	met.known = true
	w.hub.put(&met)
}

// survey lets a leader that has just started ask members that can be reached, all or most of them, before it decides
// anything.
func (w *world) survey(l *leader, s step) {
	l.rounds++
	if l.started {
		return
	}
	l.started = true
	for m := range w.members {
		if c := &w.members[m]; c.reachable && int(s>>5)%8 != m {
			l.warned[m] = l.base.outdated(m, c.share)
			l.look(m, c.share)
		}
	}
}

// look shows a leader the share of a member.
func (l *leader) look(m int, now share) { l.cache[m], l.holds[m], l.looked[m] = now, now.exists, true }

// outdated says whether a share was decided by another ledger than this one. One that somebody forged tells of no
// ledger.
func (s *stored) outdated(m int, told share) bool {
	revision := s.entries[clusterNames[m]].Revision
	if !told.exists || revision == 0 || max(told.revision, told.reportedRevision) == forgedRevision {
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
	if l.removed {
		w.goes()
		l.phase = leaderReads
		return
	}
	w.checkRaise(w.hub.now, l.next)
	w.ghost.stores(w.hub.now, l)
	l.next.selected, l.next.marked = w.hub.now.selected, w.hub.now.marked
	l.mark()
	w.hub.put(l.next)
	l.leave(l.next)
	w.note("leader %d stores version %d: %s", i, w.hub.version, l.next)
	l.phase = leaderDelivers
}

// attends has a leader see the FederatedQuota be created, or not. A second one came after one that went.
func (l *leader) attends(seen, second bool) {
	l.birth = nil
	if seen {
		l.birth = &shares.Birth{Second: second}
	}
}

// leave notes how a leader leaves the ledger of a budget whose creation it has seen.
func (l *leader) leave(as *stored) {
	if l.birth == nil {
		return
	}
	var entries []int64
	for _, e := range as.entries {
		entries = append(entries, e.Revision)
	}
	left := l.birth.Leave(as.counter, entries, time.Time{})
	l.birth = &left
}

// deliver sends the share of a cluster if what was read of it is not what it shall be.
func (w *world) deliver(l *leader, m int) {
	order, ok := w.order(l, m)
	if !ok {
		return
	}
	e, told := l.next.entries[clusterNames[m]], &l.shares[m]
	if order == creates && !w.createsGive() {
		e = e.First()
	}
	revision, hard := e.Revision, flat(e.Target)
	w.note("%s share %d%v of %s", order, revision, hard, clusterNames[m])
	d := delivery{order: order, cluster: m, life: l.lives[m], revision: revision, hard: hard, uid: told.uid, version: told.version}
	if allowed := l.allows[m]; allowed != nil && order != creates {
		d.allowed, d.allowedLimit = true, flat(allowed.Hard)
	}
	w.wire = append(w.wire, d)
}

// order returns what is to be done about the share of a cluster, if anything.
func (w *world) order(l *leader, m int) (order, bool) {
	told := &l.shares[m]
	decided := l.orders[m]
	if w.without == returnedBefore && l.next.in[m] && !l.selected[m] && told.exists && decided != shares.OrderNone {
		decided = shares.OrderTellRemoval
		if told.removal {
			decided = shares.OrderRemove
		}
	}
	switch decided {
	case shares.OrderCreate:
		return creates, true
	case shares.OrderUpdate:
		if told.removal {
			return keeps, true
		}
		return updates, true
	case shares.OrderTellRemoval:
		return tellsRemoval, true
	case shares.OrderRemove:
		return removes, true
	}
	return "", false
}

// mark notes the counter on the Cluster of each share that was read and is the business of the ledger, unless the
// marker is just behind it. No backup falls between that and the write of the ledger.
func (l *leader) mark() {
	for m := range clusters {
		if told := l.orders[m] != shares.OrderNone; told && !shares.MarkerSuffices(l.marked[m], l.next.counter) {
			l.next.marked[m] = max(l.next.marked[m], l.next.counter)
		}
	}
}

func (w *world) deliverAll(l *leader) {
	for m := range clusters {
		w.deliver(l, m)
	}
}
