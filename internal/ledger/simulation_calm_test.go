package ledger_test

import "github.com/fedquota/fedquota/internal/ledger"

// calmRounds is I5: after the last fault, so many rounds settle any number of clusters. A round is one pass of the hub
// and one of every member.
const calmRounds = 6

// calmDown ends all faults, lets everything arrive that is under way, and expects that the ledger settles.
func (w *world) calmDown() {
	w.heal()
	for round := range calmRounds {
		for m := range w.members {
			w.passMember(m)
		}
		w.passHub()
		w.check()
		if w.err != nil {
			return
		}
		if w.settled() {
			w.ghost.rounds = round + 1
			return
		}
	}
	w.fail("I5: not settled after %d rounds", calmRounds)
}

func (w *world) heal() {
	w.note("faults end")
	w.leaders[1] = leader{}
	for m := range w.members {
		w.members[m].reachable = true
	}
	for len(w.wire) > 0 {
		w.writeShare(w.wire[0])
		w.wire = w.wire[1:]
		w.check()
	}
}

// passMember is one pass of both agents and the quota controller, with usage that ends where it is above the target.
func (w *world) passMember(m int) {
	c := &w.members[m]
	if !w.hub.now.selected[m] {
		return
	}
	for n := range resources {
		if target := c.share.hard[n]; target != absent {
			c.running[n] = min(c.running[n], target)
		}
	}
	w.recount(m)
	c.agents = [2]agent{}
	for started := false; !started || c.agents[0].phase != agentReadsShare; started = true {
		w.advanceAgent(m, 0)
		w.check()
		w.recount(m)
	}
	w.leaders[0].cache[m] = c.share
}

func (w *world) passHub() {
	l := &w.leaders[0]
	l.phase = leaderReads
	for l.phase != leaderDelivers {
		w.advance(0, 0) // other(4) of 0 is the static target
	}
	w.deliverAll(l)
	for len(w.wire) > 0 {
		w.writeShare(w.wire[0])
		w.wire = w.wire[1:]
	}
	l.phase = leaderReads
}

// settled says whether every selected cluster has confirmed its target, and nobody else is in the ledger.
func (w *world) settled() bool {
	now := w.hub.now
	book := ledger.New(now.budget.list(), now.counter, now.entries)
	for m, cluster := range clusterNames {
		c := &w.members[m]
		if now.in[m] != now.selected[m] {
			return false
		}
		if !now.in[m] {
			continue
		}
		if !book.Settled(cluster, c.share.report()) || c.quota.spec != now.target[m] || c.quota.status != now.target[m] || !w.onTarget(m) {
			return false
		}
	}
	return true
}

// onTarget says whether the cluster has its static target.
func (w *world) onTarget(m int) bool {
	for n, budget := range w.hub.now.budget {
		if budget != absent && w.hub.now.target[m][n] != budget/clusters {
			return false
		}
	}
	return true
}
