package shares_test

import "github.com/fedquota/fedquota/internal/amount"

// agent is one of two replicas that both take themselves for the leader in a member.
type agent struct {
	phase  int
	share  share
	quota  quota
	report share
	// attempt counts the limits that the guard has refused in a row.
	attempt int64
}

// attempts is how often a refused limit is tried again.
const attempts = 2

const (
	agentReadsShare = iota
	agentReadsQuota
	agentLooksAgain
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
		w.checkStore(m)
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
	case agentLooksAgain:
		if a.begins() && !a.stillThere(c) {
			next = agentReadsShare
		}
	case agentEnforces:
		next = w.act(m, a)
	case agentPublishes:
		if w.without != specConfirmedByFence {
			w.publish(m, a)
		}
	case agentObserves:
		if !a.observe(w.without == specConfirmedByFence) {
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

// begins says whether a quota begins or ends to be managed on account of the share that was read: another agent may
// have acted on it before, and on one that came after it.
func (a *agent) begins() bool {
	if a.share.deleting {
		return a.share.removal && a.quota.managed
	}
	return !a.quota.managed
}

// stillThere says whether the share that was read is there, after the quota was read.
func (a *agent) stillThere(c *member) bool {
	return c.share.exists && c.share.uid == a.share.uid && c.share.deleting == a.share.deleting && c.share.revision == a.share.revision &&
		c.share.allowed == a.share.allowed && c.share.allowedLimit == a.share.allowedLimit
}

// act enforces a share, or lets it go, and returns the phase that follows.
func (w *world) act(m int, a *agent) int {
	if a.share.deleting {
		w.letGo(m, a)
		return agentReadsShare
	}
	switch w.enforce(m, a) {
	case conflicts:
		return agentReadsShare
	case refused:
		if a.attempt < attempts {
			a.attempt++
			return agentEnforces
		}
		a.attempt = 0
		return agentObserves
	default:
		a.attempt = 0
		return agentPublishes
	}
}

// letGo does with a quota what a share was told that was deleted, and takes the finalizer off the share.
func (w *world) letGo(m int, a *agent) {
	c := &w.members[m]
	if w.mark(m, a, false) == conflicts {
		return
	}
	if a.share.removal && a.quota.managed && !w.release(m, &a.quota, a.share.used.quantities()) {
		return
	}
	if c.share.exists && c.share.uid == a.share.uid && c.share.version == a.share.version {
		c.share = c.share.gone()
		w.note("share of %s is gone", clusterNames[m])
	}
}

// outcome is what came of a write of limits.
type outcome int

const (
	enforced outcome = iota
	refused
	conflicts
)

// enforce writes limit and revision. Where the guard refuses, the agent has read the quota as it is then.
func (w *world) enforce(m int, a *agent) outcome {
	state, hard := a.quota.state(), a.share.hard.quantities()
	if state.Outdates(a.share.revision) && !w.lacks(agentKnowsRevisions) {
		return enforced
	}
	if a.quota.foreign && (!a.quota.marked || !a.mayTakeOver()) {
		return w.mark(m, a, a.mayTakeOver())
	}
	limits := state.Yield(w.misread(state).Limits(a.share.revision, hard), a.attempt, attempts)
	if state.Enforces(a.share.revision, limits) {
		return enforced
	}
	c, spec := &w.members[m], flat(amount.Saturate(limits, amount.Up))
	if a.quota.outdated(&c.quota) {
		return conflicts
	}
	result := refused
	if w.writeSpec(m, a.share.revision, a.share.hard, spec) {
		result = enforced
		if a.begins() && !a.stillThere(c) && w.ghost.bereft[m] {
			w.ghost.late[m] = a.share.revision
		}
		w.note("%s enforces %d%v, using %v", clusterNames[m], a.share.revision, spec, c.quota.used)
	} else {
		w.checkRefusal(m, a, spec)
	}
	a.quota = c.quota
	return result
}

// outdated says whether a write that rests on a quota as it was read is void: a create, that of one which was released,
// and that of one which has been released since.
func (q *quota) outdated(now *quota) bool {
	if q.managed {
		return !now.managed
	}
	return *q != *now
}

// publish puts in force what was written, if the API server lets it.
func (w *world) publish(m int, a *agent) {
	status := flat(amount.Saturate(a.quota.state().Publish(), amount.Up))
	if status != a.quota.status && w.writeStatus(m, status) {
		a.quota = w.members[m].quota
	}
}

// observe makes a report of the quota as it was read last, if it may be relied upon.
func (a *agent) observe(specAlone bool) bool {
	state := a.quota.state()
	if specAlone {
		state.Hard = state.Spec
	}
	if a.quota.foreign && state.InForce() {
		a.report = a.share
		a.report.found, a.report.foundLimit, a.report.foundUsed = true, a.quota.status, a.quota.used
		return true
	}
	if !a.quota.managed || !state.InForce() {
		return false
	}
	limits, used := state.Report()
	a.report = share{
		uid: a.share.uid, reportedRevision: state.Revision,
		reported: flat(amount.Saturate(limits, amount.Up)), used: flat(amount.Saturate(used, amount.Up)),
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
	c.share.found, c.share.foundLimit, c.share.foundUsed = a.report.found, a.report.foundLimit, a.report.foundUsed
	c.share.version++
	w.note("%s reports %d%v, using %v", clusterNames[m], a.report.reportedRevision, a.report.reported, a.report.used)
}
