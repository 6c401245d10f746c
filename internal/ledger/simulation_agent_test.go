package ledger_test

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
	case agentEnforces:
		switch {
		case w.enforce(m, a):
			a.attempt = 0
		case a.attempt < attempts:
			a.attempt, next = a.attempt+1, agentEnforces
		default:
			a.attempt, next = 0, agentObserves
		}
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

// enforce writes limit and revision. Either way the agent has read the quota as it is then. It says whether the API server let it.
func (w *world) enforce(m int, a *agent) bool {
	state, hard := a.quota.state(), a.share.hard.quantities()
	if state.Outdates(a.share.revision) && !w.lacks(agentKnowsRevisions) {
		return true
	}
	limits := state.Yield(w.misread(state).Limits(a.share.revision, hard), a.attempt, attempts)
	if state.Enforces(a.share.revision, limits) {
		return true
	}
	c, spec := &w.members[m], flat(amount.Saturate(limits, amount.Up))
	written := w.writeSpec(c, a.share.revision, a.share.hard, spec)
	if written {
		w.note("%s enforces %d%v, using %v", clusterNames[m], a.share.revision, spec, c.quota.used)
	} else {
		w.checkRefusal(m, a, spec)
	}
	a.quota = c.quota
	return written
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
	if !a.quota.exists || !state.InForce() {
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
	w.note("%s reports %d%v, using %v", clusterNames[m], a.report.reportedRevision, a.report.reported, a.report.used)
}
