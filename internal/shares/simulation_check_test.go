package shares_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// ghost is what only the observer of the simulation knows: where, and by how much, the hub cannot know better.
type ghost struct {
	// bound is the most that all clusters together may hold. It is above the budget only by what is beyond it, and by what
	// was held, or could be, when the budget was cut, usage was found or the hub was restored: of that it is never more
	// than is left.
	bound amounts
	// excess is what a cluster may hold beyond what the ledger granted it: usage that was there before the limit, or that
	// of a cluster that was given up while it ran; and after a restore what was on its way or in force before. It ends as
	// soon as the stored ledger covers the cluster again.
	excess [clusters]amounts
	// beyond is the part of the excess that comes on top of the budget: nobody could know of it when the budget was handed
	// out.
	beyond [clusters]amounts
	// unnoticed says that the hub was restored, and that no ledger was stored since by a leader that was told so.
	unnoticed bool
	// torn says that the finalizer was torn off, and that the ledger which came then has told nobody. Who is not selected
	// meanwhile is counted once somebody looks there.
	torn bool
	// counted says who was selected or in the ledger, and was not given up since, nor bereft of its share.
	counted [clusters]bool
	// retaken is the revision at which a quota was taken over after a release, 0 if never: what is used there came while
	// it was nobody's, and an old report of the same revision does not tell of it.
	retaken [clusters]int64
	// returned is the revision that a cluster had when its namespace came back, or when share and quota were deleted by
	// hand, 0 if never, and says the same of what came there since.
	returned [clusters]int64
	// bereft says whose share was ever deleted by hand: one that was told to go, and is wanted again, releases what is
	// used there.
	bereft [clusters]bool
	// hidden says who holds what nobody looks for: the ledger does not know of it, and the share was deleted by hand that
	// would tell.
	hidden [clusters]bool
	// late is the revision of a quota that an agent has created, or taken over, on account of a share that somebody had
	// deleted by hand since the agent looked, or of one whose create has come to a cluster that the ledger does not know,
	// 0 if never.
	late [clusters]int64
	// seen is what the members' stores showed last.
	seen [clusters]seen
	// rounds is how many rounds the calm took.
	rounds int
}

// found charges what nobody could know of: usage that was there before the first limit, or what a cluster holds that
// comes back.
func (g *ghost) found(m, n int, used int64) {
	g.excess[m][n] = max(g.excess[m][n], used)
	g.beyond[m][n] = max(g.beyond[m][n], used)
	g.bound[n] += used
}

// restored notes that the ledger may be out of date: of what is held, or may be, nothing was given back by that, and
// nothing is added. Of whom the backup has never heard is counted once somebody looks there.
func (g *ghost) restored(w *world) {
	g.unnoticed = true
	for m := range clusters {
		g.counted[m] = g.counted[m] && w.hub.now.marked[m] > 0
	}
	for n := range resources {
		g.bound[n] = max(g.bound[n], w.possible(n))
		for m := range clusters {
			g.excess[m][n] = max(g.excess[m][n], w.potential(m, n))
		}
	}
}

// tear notes that the ledger is another one: the old one is known to no hub manager, but by what members show.
func (g *ghost) tear(w *world) {
	g.restored(w)
	g.torn = true
}

// stores has a leader store a ledger: where nobody told it of a restore, what it does not know of comes on top of what
// it hands out. Where it had to be careful it knows of all that are in the ledger then. Who was given up, or suspected and bereft of its share by then, is counted anew if it comes back.
func (g *ghost) stores(old *stored, l *leader) {
	switch {
	case g.unnoticed && l.careful:
		for m := range clusters {
			g.counted[m] = g.counted[m] && l.next.in[m]
		}
	case g.unnoticed && l.blind:
		g.beyond = g.excess
	}
	g.unnoticed = g.unnoticed && l.blind && !l.careful
	for _, e := range l.next.entries {
		g.torn = g.torn && e.Revision == 0
	}
	for m := range clusters {
		g.counted[m] = g.counted[m] && (l.next.in[m] || !old.in[m] || !l.next.destroyed[m])
	}
}

// forget ends what is known of a cluster whose name another one gets.
func (g *ghost) forget(m int) {
	g.excess[m], g.beyond[m], g.retaken[m], g.returned[m], g.late[m] = amounts{}, amounts{}, 0, 0, 0
	g.bereft[m], g.hidden[m] = false, false
}

// held is what a cluster enforces or uses under a limit, also where it is not counted yet.
func (c *member) held(n int) int64 {
	if !c.quota.managed || c.quota.status[n] == absent {
		return 0
	}
	if c.quota.used[n] == absent {
		return max(c.quota.status[n], c.running[n])
	}
	return max(c.quota.status[n], c.quota.used[n])
}

// potential is the most that a cluster may hold by what was written, or sent, or decided, or read by an agent so far;
// or by what a restored ledger takes to be granted, as long as nobody was told.
func (w *world) potential(m, n int) int64 {
	c := &w.members[m]
	most := c.held(n)
	if c.quota.managed {
		most = max(most, c.quota.spec[n])
	}
	for i := range c.agents {
		if a := &c.agents[i]; a.share.revision >= c.quota.revision {
			most = max(most, a.quota.used[n], a.quota.spec[n])
		}
	}
	w.underWay(m, func(revision int64, hard amounts) {
		if revision >= c.quota.revision {
			most = max(most, hard[n])
		}
	})
	if now := w.hub.now; w.ghost.unnoticed && now.in[m] && now.granted[m][n] != ledger.Unknown {
		most = max(most, now.granted[m][n])
	}
	return max(most, w.adopted(m, n))
}

// adopted is the limit that a leader is about to store for a cluster that it adopts: the one that it read there. A late
// decision of a ledger that was lost may have lowered it meanwhile.
func (w *world) adopted(m, n int) int64 {
	var most int64
	for i := range w.leaders {
		l := &w.leaders[i]
		if l.phase == leaderStores && l.version == w.hub.version && l.next.in[m] && l.next.granted[m][n] == ledger.Unknown {
			most = max(most, l.next.target[m][n])
		}
	}
	return most
}

// possible is the most that all clusters together may hold.
func (w *world) possible(n int) int64 {
	var sum int64
	for m := range clusters {
		if w.ghost.counted[m] {
			sum += w.potential(m, n)
		}
	}
	return sum
}

// underWay visits every limit that was decided for a cluster and may come in force yet.
func (w *world) underWay(m int, visit func(revision int64, hard amounts)) {
	c := &w.members[m]
	visit(c.share.revision, c.share.hard)
	if now := w.hub.now; now.in[m] {
		visit(now.entries[clusterNames[m]].Revision, now.target[m])
	}
	for i := range c.agents {
		visit(c.agents[i].share.revision, c.agents[i].share.hard)
	}
	for _, d := range w.wire {
		if d.cluster == m && d.life == c.life && d.order != tellsRemoval && d.order != removes {
			visit(d.revision, d.hard)
		}
	}
	for i := range w.leaders {
		if l := &w.leaders[i]; l.phase == leaderDelivers && l.next.in[m] {
			visit(l.next.entries[clusterNames[m]].Revision, l.next.target[m])
		}
	}
}

// foreign says whether a decision is under way that another ledger took, and that this one does not overrule.
func (w *world) foreign(m int) bool {
	e, now := w.hub.now.entries[clusterNames[m]], w.hub.now
	found := w.members[m].quota.revision > e.Revision
	w.underWay(m, func(revision int64, hard amounts) {
		found = found || revision > e.Revision || revision == e.Revision && hard != now.target[m]
	})
	return found
}

// check checks the invariants.
func (w *world) check() {
	w.checkStores()
	w.ghost.count(w)
	for n := range resources {
		for m := range clusters {
			w.ghost.learn(w, m, n)
			w.checkGranted(m, n)
		}
		w.checkSum(n)
	}
}

// count charges what clusters hold that were not counted before.
func (g *ghost) count(w *world) {
	for m := range clusters {
		counted := w.hub.now.in[m] || w.hub.now.selected[m] || g.counted[m] && !w.hub.now.destroyed[m] && !g.hidden[m] && !g.torn
		for n := range resources {
			if counted && !g.counted[m] {
				g.found(m, n, w.potential(m, n))
			}
		}
		g.counted[m] = counted
	}
}

// checkSum is S1: all clusters together hold no more than the budget. What was more than that before only ever gets
// less.
func (w *world) checkSum(n int) {
	g, within, held := &w.ghost, max(0, w.hub.now.budget[n]), int64(0)
	for m := range clusters {
		if g.counted[m] {
			within += g.beyond[m][n]
			held += w.members[m].held(n)
		}
	}
	g.bound[n] = max(within, min(g.bound[n], w.possible(n)))
	if held > g.bound[n] {
		w.fail("S1: %d of %s are held, budget %d, at most %d", held, resourceNames[n], w.hub.now.budget[n], g.bound[n])
	}
}

// learn ends an excess that the ledger covers, and that nothing can bring back.
func (g *ghost) learn(w *world, m, n int) {
	newer := w.hub.now.entries[clusterNames[m]].Revision > max(g.retaken[m], g.returned[m])
	if g.excess[m][n] > 0 && newer && w.hub.now.in[m] && !w.foreign(m) && w.hub.now.grant(m, n) >= w.potential(m, n) {
		g.excess[m][n], g.beyond[m][n] = 0, 0
	}
}

// checkGranted is I2: no cluster holds more than it was granted. A budget that is being deleted gives nothing
// away any more: one whose ledger was lost while its spec could not be acted on knows no names.
func (w *world) checkGranted(m, n int) {
	if now := w.hub.now; !now.in[m] || now.budget[n] == absent || now.removing {
		return
	}
	held, granted := w.members[m].held(n), w.hub.now.grant(m, n)
	if held > max(granted, w.ghost.excess[m][n]) {
		w.fail("I2: %s holds %d of %s, granted %d", clusterNames[m], held, resourceNames[n], granted)
	}
}

// knows says whether a cluster has an entry that does not go before the cluster is read.
func (s *stored) knows(m int) bool {
	return s.in[m] && (s.entries[clusterNames[m]].Revision > 0 || s.granted[m][0] > 0)
}

// grant is what the cluster counts with. A name that the budget has only now may be held if any other may.
func (s *stored) grant(m, n int) int64 {
	if s.granted[m][n] != absent {
		return s.granted[m][n]
	}
	for _, granted := range s.granted[m] {
		if granted == ledger.Unknown {
			return granted
		}
	}
	return 0
}

// sum is the sum of what is granted.
func (s *stored) sum(n int) int64 {
	var sum int64
	for m := range clusters {
		if s.in[m] {
			sum = amount.Add(sum, s.grant(m, n))
		}
	}
	return sum
}

// checkRaise is I1: a write that moves anyone's limit up leaves the sum within the budget.
func (w *world) checkRaise(old, next *stored) {
	for m, cluster := range clusterNames {
		if !old.in[m] || !next.in[m] || old.entries[cluster].Revision == 0 {
			continue
		}
		for n := range resources {
			kept := next.granted[m][n] == ledger.Unknown // it was adopted anew, with the share that it has
			if !kept && next.target[m][n] > max(0, old.target[m][n]) && next.sum(n) > next.budget[n] {
				w.fail("I1: %s is raised, and the sum is %d of %d", cluster, next.sum(n), next.budget[n])
			}
		}
	}
}

// String tells a stored ledger.
func (s *stored) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "budget %v counter %d", s.budget, s.counter)
	for m, cluster := range clusterNames {
		if s.in[m] {
			fmt.Fprintf(&b, "; %s@%d granted %v target %v", cluster, s.entries[cluster].Revision, s.granted[m].text(), s.target[m].text())
		}
	}
	return b.String()
}

func (a amounts) text() string {
	words := make([]string, 0, resources)
	for _, value := range a {
		switch value {
		case absent:
			words = append(words, "-")
		case math.MaxInt64:
			words = append(words, "?")
		default:
			words = append(words, fmt.Sprint(value))
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}
