package shares_test

import (
	"math"
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// calmRounds is I5: after the last fault, so many rounds settle any number of clusters. A round is one pass of the hub
// and one of every member.
const calmRounds = 10

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

// goWell is a round of a leader, and one of an agent of each member, in which nothing goes wrong: what comes late, or
// twice, is what was under way before, or is sent now.
func (w *world) goWell(s step) {
	i, sent := s.who(len(w.leaders)), len(w.wire)
	for begun := false; !begun || w.leaders[i].phase != leaderReads; begun = true {
		w.advance(i, s)
		w.check()
	}
	for _, d := range w.wire[sent:] {
		if w.members[d.cluster].reachable {
			w.receive(d)
			w.check()
		}
	}
	if s.much(4) != 0 {
		w.wire = w.wire[:sent]
	}
	for m := range w.members {
		w.passAgent(m, s.other(2))
		if w.members[m].reachable {
			w.leaders[i].look(m, w.members[m].share)
		}
	}
}

// stuck says whether somebody has to delete a quota that was released, as the condition of the share asks for: it
// cannot be taken over, and the hub has nothing else to say.
func (w *world) stuck(m int) bool {
	c := &w.members[m]
	if !c.quota.exists || c.quota.managed || w.hub.now.entries[clusterNames[m]].Revision != c.share.revision {
		return false
	}
	if c.quota.foreign && (!w.hub.now.selected[m] || !covered(c.quota.spec, c.share.hard)) {
		return true
	}
	limits := c.quota.state().Limits(c.share.revision, c.share.hard.quantities())
	return !w.guard(&c.quota, c.share.revision, flat(amount.Saturate(limits, amount.Up)), true)
}

// passAgent is one pass of an agent, from where it is, and of the quota controller.
func (w *world) passAgent(m, i int) {
	for begun := false; !begun || w.members[m].agents[i].phase != agentReadsShare; begun = true {
		w.recount(m)
		w.check()
		w.advanceAgent(m, i)
		w.check()
	}
	w.recount(m)
}

func (w *world) heal() {
	w.note("faults end")
	w.leaders[1] = leader{}
	for m := range w.members {
		w.members[m].reachable = true
	}
	for len(w.wire) > 0 {
		w.receive(w.wire[0])
		w.wire = w.wire[1:]
		w.check()
	}
	for m := range w.members {
		w.members[m].bare = false
		if w.forged(m) {
			w.mend(m)
		}
	}
	if w.hub.now.halted {
		w.halt(0)
	}
	if !slices.Contains(w.hub.now.selected[:], true) {
		w.selectOrNot(0)
	}
}

// passMember is one pass of both agents and the quota controller, with usage that ends where it is above the target.
func (w *world) passMember(m int) {
	c := &w.members[m]
	if w.hub.now.destroyed[m] || !c.share.exists {
		return
	}
	if w.stuck(m) {
		c.quota = quota{version: c.quota.version, spec: nothing, status: nothing, used: nothing}
	}
	for n := range resources {
		if target := c.share.hard[n]; target != absent {
			c.running[n] = min(c.running[n], target)
		}
	}
	c.agents = [2]agent{}
	w.passAgent(m, 0)
}

func (w *world) passHub() {
	l := &w.leaders[0]
	l.phase = leaderReads
	for m := range w.members {
		l.look(m, w.members[m].share)
	}
	for l.phase != leaderDelivers {
		w.advance(0, 0) // other(4) of 0 is the static target
	}
	w.deliverAll(l)
	for len(w.wire) > 0 {
		w.receive(w.wire[0])
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
		if now.in[m] != now.selected[m] || c.quota.managed && !now.selected[m] && !now.destroyed[m] && !w.ghost.hidden[m] && !w.strays(m) {
			return false
		}
		if !now.in[m] {
			continue
		}
		if !book.Settled(cluster, c.share.report()) || c.quota.spec != now.target[m] || c.quota.status != now.target[m] {
			return false
		}
	}
	return w.onTarget()
}

// strays says whether a cluster has a limit that gives nothing, of a share that somebody deleted by hand between an
// agent's look at it and the agent's write (decision 0046).
func (w *world) strays(m int) bool {
	q := &w.members[m].quota
	return w.ghost.late[m] > 0 && q.revision == w.ghost.late[m] && !slices.ContainsFunc(q.told[:], func(limit int64) bool { return limit > 0 })
}

// onTarget says whether the selected clusters share the budget in equal parts, but for a step and for the rest beside
// whole steps.
func (w *world) onTarget() bool {
	now := w.hub.now
	for n, budget := range now.budget {
		sum, low, high, apart := int64(0), int64(math.MaxInt64), int64(0), int64(1)
		if w.stepping {
			apart = 2*steps[n] - 1
		}
		for m := range clusters {
			if now.selected[m] {
				sum, low, high = sum+now.target[m][n], min(low, now.target[m][n]), max(high, now.target[m][n])
			}
		}
		if budget != absent && (sum != budget || high > low+apart) {
			return false
		}
	}
	return true
}
