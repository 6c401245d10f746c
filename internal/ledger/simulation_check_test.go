package ledger_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// ghost is what only the observer of the simulation knows: where, and by how much, the hub cannot know better.
type ghost struct {
	// ceiling is the highest budget since the ledger was last without debt.
	ceiling amounts
	// excess is what may be held beyond what the ledger granted: usage that was there before the limit, or that of a
	// cluster that was given up while it ran; and after a restore what was on its way or in force before. It ends as soon
	// as the stored ledger covers the cluster again.
	excess [clusters]amounts
	// slack is the sum of the excess since the ledger was last without debt.
	slack amounts
	// counted says who was selected or in the ledger at the last step.
	counted [clusters]bool
	// rounds is how many rounds the calm took.
	rounds int
}

// found charges usage that was there before the first limit.
func (g *ghost) found(m, n int, used int64) {
	g.excess[m][n] = max(g.excess[m][n], used)
	g.slack[n] += used
}

// owed charges what a cluster may hold that comes back, or of which a restored ledger is out of date.
func (g *ghost) owed(w *world, m int) {
	for n := range resources {
		g.found(m, n, w.potential(m, n))
	}
}

func (g *ghost) forget(m int) { g.excess[m] = amounts{} }

// held is what a cluster enforces or uses under a limit.
func (c *member) held(n int) int64 {
	if !c.quota.exists || c.quota.status[n] == absent {
		return 0
	}
	return max(c.quota.status[n], c.quota.used[n])
}

// potential is the most that a cluster may hold by what was written, or sent, or decided, or read by an agent so far.
func (w *world) potential(m, n int) int64 {
	c := &w.members[m]
	most := max(c.held(n), c.quota.spec[n])
	for i := range c.agents {
		if a := &c.agents[i]; a.share.revision >= c.quota.revision {
			most = max(most, a.quota.used[n])
		}
	}
	w.underWay(m, func(revision int64, hard amounts) {
		if revision >= c.quota.revision {
			most = max(most, hard[n])
		}
	})
	return most
}

// underWay visits every limit that was decided for a cluster and may come in force yet.
func (w *world) underWay(m int, visit func(revision int64, hard amounts)) {
	c := &w.members[m]
	visit(c.share.revision, c.share.hard)
	for i := range c.agents {
		visit(c.agents[i].share.revision, c.agents[i].share.hard)
	}
	for _, d := range w.wire {
		if d.cluster == m && d.life == c.life {
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
	w.ghost.count(w)
	for n, budget := range w.hub.now.budget {
		known := true
		for m := range clusters {
			w.ghost.learn(w, m, n)
			known = known && w.ghost.excess[m][n] == 0 && w.hub.now.in[m] == w.hub.now.selected[m]
			w.checkGranted(m, n)
		}
		if budget != absent {
			w.checkSum(n, budget, known)
		}
	}
}

// count charges what clusters hold that were not counted before.
func (g *ghost) count(w *world) {
	for m := range clusters {
		counted := w.hub.now.in[m] || w.hub.now.selected[m]
		if counted && !g.counted[m] {
			g.owed(w, m)
		}
		g.counted[m] = counted
	}
}

// checkSum is S1: all clusters together hold no more than the budget, or than what was known before it was cut.
func (w *world) checkSum(n int, budget int64, known bool) {
	g := &w.ghost
	if known && w.hub.now.sum(n) <= budget {
		g.ceiling[n], g.slack[n] = budget, 0
	}
	var sum int64
	for m := range clusters {
		if g.counted[m] {
			sum += w.members[m].held(n)
		}
	}
	if sum > max(0, g.ceiling[n])+g.slack[n] {
		w.fail("S1: %d of %s are held, budget %d, found beyond it %d", sum, resourceNames[n], g.ceiling[n], g.slack[n])
	}
}

// learn ends an excess that the ledger covers, and that nothing can bring back.
func (g *ghost) learn(w *world, m, n int) {
	if g.excess[m][n] > 0 && w.hub.now.in[m] && !w.foreign(m) && w.hub.now.grant(m, n) >= w.potential(m, n) {
		g.excess[m][n] = 0
	}
}

// checkGranted is I2: no cluster holds more than it was granted.
func (w *world) checkGranted(m, n int) {
	if !w.hub.now.in[m] || w.hub.now.budget[n] == absent {
		return
	}
	held, granted := w.members[m].held(n), w.hub.now.grant(m, n)
	if held > max(granted, w.ghost.excess[m][n]) {
		w.fail("I2: %s holds %d of %s, granted %d", clusterNames[m], held, resourceNames[n], granted)
	}
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
