package ledger_test

import "github.com/fedquota/fedquota/internal/ledger"

// share is a QuotaShare.
type share struct {
	exists   bool
	uid      int
	revision int64
	hard     amounts
	// What the agent reported: both lists have only names whose usage is known.
	reportedRevision int64
	reported, used   amounts
}

func (s share) report() ledger.Report {
	return ledger.Report{Revision: s.reportedRevision, Hard: s.reported.list(), Used: s.used.list()}
}

// adoptable is what Adopt is told of a share that was read live.
func (s share) adoptable() *ledger.Share {
	if !s.exists {
		return nil
	}
	return &ledger.Share{Revision: s.revision, Hard: s.hard.list(), InForce: s.reportedRevision}
}

// quota is the managed ResourceQuota. revision is its annotation.
type quota struct {
	exists             bool
	version            int
	revision           int64
	spec, status, used amounts
	// told is the limit of the share that was enforced, which only the observer sees.
	told amounts
}

// state is the quota as the agent sees it.
func (q quota) state() ledger.Quota {
	return ledger.Quota{
		Managed: q.exists, Revision: q.revision,
		Spec: q.spec.quantities(), Hard: q.status.quantities(), Used: q.used.quantities(),
	}
}

// member is a cluster: its API server's objects, what runs in it, and its two agents.
type member struct {
	reachable bool
	// life counts the clusters that had this name; a connection belongs to one of them.
	life    int
	share   share
	quota   quota
	running amounts
	agents  [2]agent
}

// delivery is a write of a share that is under way.
type delivery struct {
	cluster  int
	life     int
	revision int64
	hard     amounts
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
	w.writeShare(d)
}

// writeShare is the member's API server: a revision never goes down, and hard changes with a higher one only.
func (w *world) writeShare(d delivery) {
	c := &w.members[d.cluster]
	if d.life != c.life {
		return
	}
	if !c.share.exists {
		c.share = share{exists: true, uid: c.share.uid + 1, reported: nothing, used: nothing}
	}
	stale := d.revision < c.share.revision || d.revision == c.share.revision && d.hard != c.share.hard
	if stale && !w.lacks(sharesFenced) {
		w.note("share %d%v of %s is refused", d.revision, d.hard, clusterNames[d.cluster])
		return
	}
	c.share.revision, c.share.hard = d.revision, d.hard
	w.note("%s has share %d%v", clusterNames[d.cluster], d.revision, d.hard)
}

// writeSpec is the guard on the managed ResourceQuota. It says whether the write was let through.
func (w *world) writeSpec(c *member, revision int64, told, spec amounts) bool {
	q := &c.quota
	if !w.guard(q, revision, spec) {
		return false
	}
	q.exists, q.revision, q.told, q.spec = true, revision, told, spec
	q.version++
	return true
}

// guard lets a write through if the revision does not go down, no limit goes up or away within one revision, and no limit
// is lowered below what is used.
func (w *world) guard(q *quota, revision int64, spec amounts) bool {
	if revision < q.revision && !w.lacks(revisionsGuarded) {
		return false
	}
	for n, limit := range spec {
		raised := q.spec[n] != absent && (limit == absent || limit > q.spec[n])
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

// writeStatus is the fence on the status of the managed ResourceQuota. It says whether the write was let through: no limit
// is put in force above what was written, nor taken out of force.
func (w *world) writeStatus(m int, status amounts) bool {
	q := &w.members[m].quota
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
	for n, limit := range c.quota.spec {
		w.enforced(m, n, limit)
		c.quota.used[n] = absent
		if limit != absent {
			c.quota.used[n] = c.running[n]
		}
	}
	c.quota.version++
}

// enforced puts a limit in force. What ran before there was one was never granted.
func (w *world) enforced(m, n int, limit int64) {
	c := &w.members[m]
	if limit != absent && c.quota.status[n] == absent {
		w.ghost.found(m, n, c.running[n])
	}
	c.quota.status[n] = limit
}

// admit is a request in a member: native admission compares with what is in force, and the fence with what is written.
func (w *world) admit(s step) {
	c, n, more := &w.members[s.who(clusters)], s.other(resources), 1+s.much(6)
	q := &c.quota
	if !q.exists || q.status[n] == absent {
		if c.running[n]+more <= 6 {
			c.running[n] += more
		}
		return
	}
	used := q.used[n] + more
	beyondSpec := q.spec[n] != absent && used > q.spec[n] && w.without != specConfirmedByFence
	if used > q.status[n] || beyondSpec {
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
