package shares_test

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// share is a QuotaShare.
type share struct {
	exists bool
	// version is its resourceVersion: orders to remove it are for the share that was read.
	uid, version int
	revision     int64
	hard         amounts
	// removal says whether it was told what shall become of the quota, and deleting whether it was deleted, and waits for
	// an agent.
	removal, deleting bool
	// What the agent reported: both lists have only names whose usage is known.
	reportedRevision int64
	reported, used   amounts
	// found says that the agent told of a limit of somebody else, foundLimit and foundUsed what that is. allowed says that
	// it may be taken over, as long as it is no more than allowedLimit.
	found, allowed                      bool
	foundLimit, foundUsed, allowedLimit amounts
}

// gone is what is left of a share: the next one has another UID.
func (s share) gone() share {
	return share{uid: s.uid, hard: nothing, reported: nothing, used: nothing}
}

func (s share) report() ledger.Report {
	return ledger.Report{Revision: s.reportedRevision, Hard: s.reported.list(), Used: s.used.list()}
}

// quota is the ResourceQuota of a share. revision is its annotation, of which there is another one once it was
// released.
type quota struct {
	exists, managed bool
	// foreign says that no agent has made it, and marked that one is about to take it over.
	foreign, marked    bool
	version            int
	revision           int64
	spec, status, used amounts
	// told is the limit of the share that was enforced, which only the observer sees.
	told amounts
}

// state is the quota as the agent sees it.
func (q quota) state() ledger.Quota {
	return ledger.Quota{
		Managed: q.managed, Revision: q.revision,
		Spec: q.spec.quantities(), Hard: q.status.quantities(), Used: q.used.quantities(),
	}
}

// member is a cluster: its API server's objects, what runs in it, and its two agents.
type member struct {
	reachable bool
	// life counts the clusters that had this name; a connection belongs to one of them.
	life int
	// bare says that the namespace does not exist.
	bare    bool
	share   share
	quota   quota
	running amounts
	agents  [2]agent
}

// isBereft says whether a limit is in force of a share that is gone, or soon will be: an agent may be about to enforce
// what it has read.
func (c *member) isBereft() bool {
	enforced := c.quota.managed || c.agents[0].share.exists || c.agents[1].share.exists
	return enforced && (!c.share.exists || c.share.deleting)
}

// order is what a delivery does.
type order string

const (
	creates      order = "create"
	updates      order = "update"
	keeps        order = "keep"
	tellsRemoval order = "tell the removal of"
	removes      order = "remove"
)

// delivery is a write of a share that is under way.
type delivery struct {
	order    order
	cluster  int
	life     int
	revision int64
	hard     amounts
	// uid and version are of the share that was read: it is updated as long as it is there, and removed, or kept after it
	// was to be removed, as long as it has not changed.
	uid, version int
	// allowed and allowedLimit say what may be taken over.
	allowed      bool
	allowedLimit amounts
}

// arrive lets one write that is under way reach its member, and maybe stay under way: it may come twice.
func (w *world) arrive(s step) {
	if len(w.wire) == 0 {
		return
	}
	i := s.who(len(w.wire))
	d := w.wire[i]
	if !w.members[d.cluster].reachable || s.much(8) == 0 {
		if s.much(3) == 0 {
			w.wire = append(w.wire[:i], w.wire[i+1:]...) // lost
		}
		return
	}
	if s.other(4) != 0 {
		w.wire = append(w.wire[:i], w.wire[i+1:]...)
	}
	w.receive(d)
}

// receive is the API server of a member.
func (w *world) receive(d delivery) {
	c := &w.members[d.cluster]
	same := c.share.exists && c.share.uid == d.uid && c.share.version == d.version
	switch {
	case d.life != c.life && w.without != clusterIdentified:
	case d.order == creates && !c.share.exists && !c.bare:
		c.share = share{exists: true, uid: c.share.uid + 1, reported: nothing, used: nothing}
		if w.hub.now.entries[clusterNames[d.cluster]].Revision == 0 {
			w.ghost.late[d.cluster] = d.revision
		}
		w.writeShare(c, d)
	case d.order == updates && c.share.exists && (c.share.uid == d.uid || w.without == shareIdentified):
		w.writeShare(c, d)
	case d.order == keeps && same:
		c.share.removal = !w.writeShare(c, d)
	case (d.order == tellsRemoval || d.order == removes) && same:
		c.share.removal, c.share.deleting = true, d.order == removes
		c.share.version++
		w.note("share of %s is to be removed, deleted: %v", clusterNames[d.cluster], c.share.deleting)
	}
}

// writeShare lets a write through if the revision does not go down, and hard changes with a higher one only, and says
// whether it did.
func (w *world) writeShare(c *member, d delivery) bool {
	stale := d.revision < c.share.revision || d.revision == c.share.revision && d.hard != c.share.hard
	if stale && !w.lacks(sharesFenced) {
		w.note("share %d%v of %s is refused", d.revision, d.hard, clusterNames[d.cluster])
		return false
	}
	c.share.revision, c.share.hard = d.revision, d.hard
	c.share.allowed, c.share.allowedLimit = d.allowed, d.allowedLimit
	c.share.version++
	w.note("%s has share %d%v", clusterNames[d.cluster], d.revision, d.hard)
	return true
}

// writeSpec writes limits and revision, if the guard lets it, and says so. A quota that was released is taken over with
// that: what is used there was not granted by anybody.
func (w *world) writeSpec(m int, revision int64, told, spec amounts) bool {
	q := &w.members[m].quota
	if !w.guard(q, revision, spec, true) {
		return false
	}
	if q.foreign {
		w.takesOver(m, revision)
	} else if q.exists && !q.managed {
		w.ghost.retaken[m] = revision
		for n := range resources {
			w.ghost.found(m, n, max(w.members[m].running[n], q.used[n], q.status[n]))
		}
	}
	q.exists, q.managed, q.foreign, q.marked, q.revision, q.told, q.spec = true, true, false, false, revision, told, spec
	q.version++
	return true
}

// release hands a quota over to the users of its cluster, if the guard lets it, and says so: as it was read, at the
// revision that it had then, and no limit higher than it was or than usage was reported.
func (w *world) release(m int, read *quota, reported corev1.ResourceList) bool {
	q := &w.members[m].quota
	spec := flat(amount.Saturate(read.state().Release(reported), amount.Up))
	if !q.managed || q.revision != read.revision || !w.guard(q, q.revision, spec, false) {
		return false
	}
	w.checkRelease(m)
	q.managed, q.spec = false, spec
	q.version++
	if w.without == revisionKept {
		q.revision = 0
	}
	w.note("%s releases its quota, using %v", clusterNames[m], q.used)
	return true
}

// guard lets a write through if the revision does not go down, no limit goes up or away within one revision, but to
// what is used when the quota is released, and no limit is lowered below what is used.
func (w *world) guard(q *quota, revision int64, spec amounts, managed bool) bool {
	if revision < q.revision && !w.lacks(revisionsGuarded) {
		return false
	}
	for n, limit := range spec {
		raised := q.spec[n] != absent && (limit == absent || limit > q.spec[n]) && (managed || limit > q.used[n])
		if revision == q.revision && raised && !w.lacks(raisesGuarded) {
			return false
		}
		lowered := limit != absent && limit < q.spec[n]
		if lowered && limit < q.used[n] && !w.lacks(usageGuarded) {
			return false
		}
	}
	return true
}

// writeStatus is the fence on the status of the managed ResourceQuota. It says whether the write was let through: no
// limit is put in force above what was written, nor taken out of force. The agent writes to none that was released.
func (w *world) writeStatus(m int, status amounts) bool {
	q := &w.members[m].quota
	if !q.managed {
		return false
	}
	for n, limit := range status {
		above := limit != absent && (q.spec[n] == absent || limit > q.spec[n]) && limit != q.status[n]
		out := limit == absent && q.status[n] != absent && q.spec[n] != absent
		if (above || out) && !w.lacks(statusFenced) {
			return false
		}
	}
	for n, limit := range status {
		w.enforced(m, n, limit)
	}
	q.version++
	return true
}

// syncQuota is the quota controller of a member: it counts, and puts in force what the spec says.
func (w *world) syncQuota(s step) { w.recount(s.who(clusters)) }

func (w *world) recount(m int) {
	c := &w.members[m]
	if !c.quota.exists {
		return
	}
	before := c.quota
	for n, limit := range c.quota.spec {
		w.enforced(m, n, limit)
		c.quota.used[n] = absent
		if limit != absent {
			c.quota.used[n] = c.running[n]
		}
	}
	if c.quota != before {
		c.quota.version++
	}
}

// enforced puts a limit in force. What ran before there was one was never granted.
func (w *world) enforced(m, n int, limit int64) {
	c := &w.members[m]
	if c.quota.managed && limit != absent && c.quota.status[n] == absent {
		w.ghost.found(m, n, c.running[n])
	}
	c.quota.status[n] = limit
}

// admit is a request in a member: native admission compares with what is in force, and the fence with what is written.
// The limits of a quota that was released are for its users to lift.
func (w *world) admit(s step) {
	c, n, more := &w.members[s.who(clusters)], s.other(resources), 1+s.much(6)
	q := &c.quota
	if !q.managed && !q.foreign || q.status[n] == absent {
		more = max(0, min(more, 6-c.running[n]))
		c.running[n] += more
		if q.used[n] != absent {
			q.used[n] += more
			q.version++
		}
		return
	}
	used := q.used[n] + more
	beyondSpec := q.managed && q.spec[n] != absent && used > q.spec[n] && w.without != specConfirmedByFence
	if q.used[n] == absent || used > q.status[n] || beyondSpec {
		return
	}
	q.used[n] = used
	c.running[n] += more
	q.version++
	w.note("%s uses %d of %s", clusterNames[s.who(clusters)], used, resourceNames[n])
}

// shrink ends something that runs. The quota controller will count it later.
func (w *world) shrink(s step) {
	c, n := &w.members[s.who(clusters)], s.other(resources)
	c.running[n] -= min(c.running[n], 1+s.much(6))
}
