package ledger_test

// agent is one of two replicas that both take themselves for the leader in a member.
type agent struct {
	phase  int
	share  share
	quota  quota
	report share
}

const (
	agentReadsShare = iota
	agentReadsQuota
	agentEnforces
	agentPublishes
	agentObserves
	agentReports
	agentPhases
)

// stepAgent lets an agent take a few steps. It may be left anywhere, and go on much later.
func (w *world) stepAgent(s step) {
	m, i := s.who(clusters), s.other(2)
	for range 1 + s.much(agentPhases) {
		w.advanceAgent(m, i)
	}
}

func (w *world) advanceAgent(m, i int) {
	c := &w.members[m]
	a := &c.agents[i]
	next := a.phase + 1
	switch a.phase {
	case agentReadsShare:
		a.read(c, w.without != usageReadAfterShare)
	case agentReadsQuota:
		a.read(c, w.without == usageReadAfterShare)
		if !a.share.exists {
			next = agentReadsShare
		}
	case agentEnforces:
		w.enforce(m, a)
	case agentPublishes:
		if w.without != specConfirmedByFence {
			w.publish(m, a)
		}
	case agentObserves:
		if !a.observe(c.quota, w.without == specConfirmedByFence) {
			next = agentReadsShare
		}
	case agentReports:
		w.report(m, a)
	}
	a.phase = next % agentPhases
}

// read reads the share first, so that the usage that it reads then is no older than the decision that it enforces.
func (a *agent) read(c *member, share bool) {
	if share {
		a.share = c.share
	} else {
		a.quota = c.quota
	}
}

// enforce writes limit and revision: what the share says, or what is used where that is more. Within one revision it only
// lowers.
func (w *world) enforce(m int, a *agent) {
	if a.share.revision < a.quota.revision && w.without != fencedMemberWrites {
		return
	}
	spec := a.limits()
	c := &w.members[m]
	if a.quota.exists && c.quota.revision == a.share.revision && c.quota.spec == spec {
		return
	}
	if w.writeSpec(c, a.share.revision, spec) {
		w.note("%s enforces %d%v, using %v", clusterNames[m], a.share.revision, spec, c.quota.used)
	}
}

// limits returns the limits to write, by what the agent read.
func (a *agent) limits() amounts {
	spec := a.share.hard
	within := a.quota.exists && a.share.revision == a.quota.revision
	for n, limit := range spec {
		if limit == absent {
			continue
		}
		if a.quota.status[n] != absent { // else nobody has counted what is used
			spec[n] = max(limit, a.quota.used[n])
		}
		if within && a.quota.spec[n] != absent {
			spec[n] = min(spec[n], a.quota.spec[n])
		}
	}
	return spec
}

// publish puts what was written in force, at the resourceVersion that was read: nobody waits for the quota controller.
// A name that is not in force yet is left to it, though: what ran while nobody limited it must be counted first.
func (w *world) publish(m int, a *agent) {
	c := &w.members[m]
	read := c.quota
	a.quota = read
	for n, limit := range read.spec {
		if limit == absent || read.status[n] != absent {
			w.enforced(m, n, limit)
		}
	}
	c.quota.version++
}

// observe makes a report of one version of the quota, if there is anything to report.
func (a *agent) observe(q quota, specAlone bool) bool {
	a.report = share{uid: a.share.uid, reportedRevision: q.revision, reported: nothing, used: nothing}
	if q.revision > a.share.revision {
		return true // what is in force is newer than the share: the hub must know, or it could never be replaced
	}
	if !q.exists || q.revision < a.share.revision || q.spec != q.status && !specAlone {
		return false
	}
	for n, used := range q.used {
		if used != absent {
			a.report.reported[n], a.report.used[n] = q.spec[n], used
		}
	}
	return true
}

// report writes the status of the share that was read, unless another share has its name now.
func (w *world) report(m int, a *agent) {
	c := &w.members[m]
	if !c.share.exists || c.share.uid != a.report.uid {
		return
	}
	c.share.reportedRevision, c.share.reported, c.share.used = a.report.reportedRevision, a.report.reported, a.report.used
	w.note("%s reports %d%v, using %v", clusterNames[m], a.report.reportedRevision, a.report.reported, a.report.used)
}
