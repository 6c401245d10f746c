package shares_test

import "github.com/fedquota/fedquota/internal/ledger"

// watch shows a leader the share of a member as it is now, and looks whether there is one. What it did not watch it
// does not know.
func (w *world) watch(s step) {
	if m := s.who(clusters); w.members[m].reachable {
		w.leaders[s.other(len(w.leaders))].look(m, w.members[m].share)
	}
}

func (w *world) cutOrHeal(s step) {
	c := &w.members[s.who(clusters)]
	c.reachable = !c.reachable
	w.note("%s reachable: %v", clusterNames[s.who(clusters)], c.reachable)
}

// crash restarts a leader, which has seen nothing then, or an agent.
func (w *world) crash(s step) {
	if s.much(2) == 0 {
		w.leaders[s.who(len(w.leaders))] = leader{}
		return
	}
	w.members[s.who(clusters)].agents[s.other(2)] = agent{}
}

func (w *world) setBudget(s step) {
	n := s.other(resources)
	if w.hub.now.budget[n] != absent && !w.hub.now.halted {
		w.changeBudget(n, s.much(16))
	}
}

func (w *world) toggleName(s step) {
	if w.hub.now.halted {
		return
	}
	value := int64(absent)
	if w.hub.now.budget[1] == absent {
		value = s.much(16)
	}
	w.changeBudget(1, value)
}

func (w *world) changeBudget(n int, value int64) {
	next := *w.hub.now
	next.budget[n] = value
	w.hub.put(&next)
	w.note("budget %v", next.budget)
}

// deleteShare is somebody's hand in a member: it leaves the share to the agent, or takes its finalizer off as well.
// What the share told of a rollback is gone then.
func (w *world) deleteShare(s step) {
	c := &w.members[s.who(clusters)]
	if !c.share.exists {
		return
	}
	for i := range w.leaders {
		w.leaders[i].warned[s.who(clusters)] = false
	}
	c.share.deleting = true
	c.share.version++
	if s.much(2) == 0 {
		c.share = c.share.gone()
	}
	w.ghost.bereft[s.who(clusters)] = true
	w.hide()
	w.note("share of %s is deleted by hand", clusterNames[s.who(clusters)])
}

// forgedRevision is one that no ledger gives.
const forgedRevision = ledger.MostRevision + 1

// forge has somebody write a share as the hub would, at a revision that no ledger gave, or mend that.
func (w *world) forge(s step) {
	m := s.who(clusters)
	c := &w.members[m]
	if w.forged(m) {
		w.mend(m)
		return
	}
	if !c.share.exists || c.share.deleting {
		return
	}
	for i := range w.leaders {
		w.leaders[i].warned[m] = false
	}
	c.share.revision = forgedRevision
	for n, limit := range c.share.hard {
		if limit != absent {
			c.share.hard[n] = int64(s>>(12+4*n)) % 16
			w.ghost.found(m, n, c.share.hard[n])
		}
	}
	c.share.version++
	w.note("%s has a forged share %v", clusterNames[m], c.share.hard)
}

// forged says whether a member has a share that somebody forged, or a quota that enforces one.
func (w *world) forged(m int) bool {
	return w.members[m].share.revision == forgedRevision || w.members[m].quota.revision == forgedRevision
}

// mend deletes a share that somebody forged, and its quota behind broken glass. Agents that were about to act on them
// begin anew (decision 0021).
func (w *world) mend(m int) {
	c := &w.members[m]
	c.share = c.share.gone()
	c.quota = quota{version: c.quota.version + 1, spec: nothing, status: nothing, used: nothing}
	c.agents = [2]agent{}
	w.ghost.bereft[m] = true
	w.ghost.returned[m] = w.hub.now.entries[clusterNames[m]].Revision
	w.hide()
	// What was decided for the cluster before that, and could not come in force beside it, may come in force now.
	for n := range resources {
		w.ghost.bound[n] = max(w.ghost.bound[n], w.possible(n))
		if w.ghost.unnoticed {
			w.ghost.excess[m][n] = max(w.ghost.excess[m][n], w.potential(m, n))
		}
	}
	w.note("the forged share of %s is deleted, and its quota", clusterNames[m])
}

// hide notes who holds what nobody looks for from now on. Who was given up, or is not known to the backup, and cannot
// be reached, is not waited for by a ledger that was not lost. Nor is who is bereft once the finalizer was torn off.
func (w *world) hide() {
	for m := range w.members {
		forgotten := !w.ghost.counted[m] && !w.members[m].reachable
		w.ghost.hidden[m] = w.ghost.hidden[m] || w.members[m].isBereft() && (forgotten || w.ghost.torn || w.overlooks(m))
	}
}

// halt has somebody break the spec, or mend it.
func (w *world) halt(step) {
	next := *w.hub.now
	next.halted = !next.halted
	w.hub.put(&next)
	w.note("halted: %v", next.halted)
}

// overlooks says whether the ledger does not know of a cluster, or is to forget it, and asks nobody whom it does not
// know.
func (w *world) overlooks(m int) bool {
	now := w.hub.now
	asks := now.marked[m] > 0
	for _, e := range now.entries {
		asks = asks && e.Revision == 0
	}
	for i := range w.leaders {
		l := &w.leaders[i]
		asks = asks && (l.phase != leaderStores || l.version != w.hub.version)
	}
	return now.destroyed[m] || !now.knows(m) && !asks
}

// toggleNamespace deletes the namespace of a member, with all that is in it, or creates it again. That both fences go
// with it is known: no agent is about to create a quota meanwhile (decision 0021).
func (w *world) toggleNamespace(s step) {
	m := s.who(clusters)
	c := &w.members[m]
	if c.bare {
		c.bare = false
		w.ghost.returned[m] = w.hub.now.entries[clusterNames[m]].Revision
		w.note("%s has the namespace again", clusterNames[m])
		return
	}
	*c = member{reachable: c.reachable, life: c.life, bare: true, share: c.share.gone(), quota: quota{version: c.quota.version, spec: nothing, status: nothing, used: nothing}}
	w.ghost.excess[m], w.ghost.beyond[m] = amounts{}, amounts{}
	w.note("%s loses the namespace", clusterNames[m])
}

func (w *world) selectOrNot(s step) {
	m := s.who(clusters)
	next := *w.hub.now
	next.selected[m] = !next.selected[m]
	w.note("%s selected: %v", clusterNames[m], next.selected[m])
	if next.destroyed[m] {
		next.destroyed[m] = false
		w.hub.put(&next)
		return
	}
	w.hub.now = &next // another object than the FederatedQuota, whose version stays
	w.hub.past = append(w.hub.past, w.hub.now)
}

// giveUp says that a cluster is destroyed, true or not, or takes that back.
func (w *world) giveUp(s step) {
	m := s.who(clusters)
	if w.hub.now.selected[m] {
		return
	}
	next := *w.hub.now
	next.destroyed[m] = !next.destroyed[m]
	w.hub.put(&next)
	w.hide()
	w.note("%s destroyed: %v", clusterNames[m], next.destroyed[m])
}

// replaceCluster puts an empty cluster in the place of one that left. Connections do not carry over.
func (w *world) replaceCluster(s step) {
	m := s.who(clusters)
	if w.hub.now.selected[m] || w.hub.now.in[m] {
		return
	}
	next := *w.hub.now
	next.marked[m] = 0
	w.hub.now = &next
	old := w.members[m]
	w.members[m] = member{
		reachable: true,
		life:      old.life + 1,
		share:     old.share.gone(),
		quota:     quota{spec: nothing, status: nothing, used: nothing},
	}
	w.members[m].running[0] = s.much(4)
	for l := range w.leaders {
		w.leaders[l].look(m, share{})
	}
	w.ghost.forget(m)
	w.note("%s is another cluster", clusterNames[m])
}

// rollBack restores the hub's etcd from a backup: FederatedQuota and Cluster objects. Hub managers end, and what they
// have sent is on its way. Whoever restores may declare the ledger lost, as the documentation asks for, and marks all
// clusters then.
func (w *world) rollBack(s step) {
	for i := range w.leaders {
		if l := &w.leaders[i]; l.phase == leaderDelivers {
			w.deliverAll(l)
		}
		w.leaders[i] = leader{}
	}
	w.hub.put(w.hub.past[int(s>>8)%len(w.hub.past)])
	w.note("hub restored: %s", w.hub.now)
	if s.other(2) == 0 {
		w.ghost.restored(w)
		w.hide()
		return
	}
	marked := *w.hub.now
	for m := range clusters {
		marked.marked[m] = max(marked.marked[m], 1)
	}
	w.hub.now = &marked
	w.loseLedger(s)
}

// loseLedger empties the status. The Cluster objects, and with them the markers, stay.
func (w *world) loseLedger(step) {
	now := w.hub.now
	w.hub.put(&stored{
		budget: now.budget, hard: nothing, halted: now.halted, known: now.known, removing: now.removing, gone: now.gone,
		selected: now.selected, destroyed: now.destroyed, marked: now.marked,
	})
	w.hide()
	w.note("ledger lost")
}

// tear has somebody tear the finalizer off the FederatedQuota, and create it again while hub managers watch, or do not.
// Nobody lets go of anything.
func (w *world) tear(s step) {
	w.note("torn off")
	w.create(s)
}
