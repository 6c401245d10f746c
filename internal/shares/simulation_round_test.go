package shares_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// decide is the round of the hub manager, up to the write of the ledger: what it gathers is made up, what it decides is
// the product.
func (w *world) decide(l *leader, s step) {
	l.selected, l.marked = w.hub.now.selected, w.hub.now.marked
	in := w.input(l, s)
	r := shares.New(in)
	l.read, l.orphan = [clusters]bool{}, [clusters]bool{}
	for _, c := range r.Children() {
		w.readChild(l, &c, s)
		r.Hear(c.Name, c.Reading, c.Past)
	}
	l.blind, l.careful = !w.isWarned(l), l.isCareful()
	d := r.Decide()
	l.doubted = l.doubted || d.Rebuilt
	w.freeze(l, in, d)
}

// input is what a leader knows before it reads any member.
func (w *world) input(l *leader, s step) *shares.Input {
	in := &shares.Input{
		ID: "uid", Key: "team-a/compute", Budget: l.base.budget.list(),
		Revision: l.base.counter, Fresh: l.isFresh(), Epoch: int64(l.version) * ledger.Gap, Split: round.Split{Static: s.other(8) < 6},
	}
	in.Removing = l.base.removing
	if l.base.halted {
		in.Budget, in.Halted = l.base.hard.list(), shares.Obstacle{Reason: quotav1alpha1.ReasonInvalidSpec, Message: "halted"}
	}
	if w.stepping {
		in.Split.Grains = steps.list()
	}
	if w.taking {
		in.Existing.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	}
	for m, name := range clusterNames {
		l.lives[m] = w.members[m].life
		c := shares.Child{
			Name: name, UID: "uid-" + name, Selected: l.selected[m], Destroyed: l.base.destroyed[m],
			Marker: l.marked[m], Holds: l.holds[m], Terms: l.terms(m, s), Entry: w.entry(l, m),
		}
		if w.without == unreadMayHold {
			c.Marker = 0
		}
		in.Children = append(in.Children, c)
		if l.expects(m) && w.members[m].reachable {
			in.Expected = append(in.Expected, name)
		}
	}
	return in
}

// isFresh says whether a leader takes nobody to have been told anything.
func (l *leader) isFresh() bool {
	return l.birth != nil && !l.doubted && l.birth.Fresh(l.base.counter, time.Time{})
}

// isCareful says whether a leader has to take each cluster that the ledger selects to hold anything: the ledger has told
// nobody, and the leader did not see the FederatedQuota be created, has seen one of its name go, or has read a share, or
// a limit without one.
func (l *leader) isCareful() bool {
	careful := l.birth == nil || l.second
	for m := range clusters {
		careful = careful || l.read[m] && (l.shares[m].exists || l.orphan[m])
	}
	for _, e := range l.base.entries {
		careful = careful && e.Revision == 0
	}
	return careful
}

// terms draws a bound for a cluster, so that it may get any target; every fourth time there is none, and all have the
// same part.
func (l *leader) terms(m int, s step) round.Terms {
	t := round.Terms{Weight: 1}
	if s.other(4) == 0 {
		return t
	}
	t.Max = amount.List{}
	for n, budget := range l.base.budget {
		if budget != absent {
			t.Max[resourceNames[n]] = int64(s>>(7+3*m+5*n)) % (budget + 1)
		}
	}
	return t
}

// entry is what was stored of a cluster, as a variant believes it.
func (w *world) entry(l *leader, m int) *shares.Entry {
	e, ok := l.base.entries[clusterNames[m]]
	if !ok {
		return nil
	}
	if w.without == strangersDoubted && l.birth != nil && e.Revision == 0 {
		e.Granted = amounts{}.list()
	}
	entry := &shares.Entry{Entry: w.forget(e), UID: "uid-" + clusterNames[m]}
	if l.base.suspected[m] {
		entry.Reason = quotav1alpha1.ReasonMayHoldShare
	}
	if l.base.noted[m] {
		entry.Removal = quotav1alpha1.RemovalRetain
	}
	return entry
}

// readChild reads the share of a member, from the cache of its connection or from its API server, and what is in force
// without one.
func (w *world) readChild(l *leader, c *shares.Child, s step) {
	m := int(c.Name[0] - 'a')
	member := &w.members[m]
	if s.much(4) != 3 {
		c.Past.UnheardFor = map[corev1.ResourceName]time.Duration{}
		for _, name := range resourceNames {
			c.Past.UnheardFor[name] = pace.FirstReportWait
		}
	}
	if c.Live && !member.reachable {
		c.Reading.Failure = "away"
		return
	}
	if c.Live {
		l.look(m, member.share)
	}
	l.read[m], l.shares[m] = true, l.cache[m]
	if l.shares[m].exists {
		c.Reading.Share = w.says(l, m, s)
		return
	}
	if member.reachable && member.bare {
		c.Reading.HeldBack.Reason = quotav1alpha1.ReasonNamespaceMissing
	}
	held := member.quota.managed || member.quota.marked && w.without != markedCounts
	if q := &member.quota; c.Live && held && w.without != bereftCounts {
		l.orphan[m] = true
		c.Reading.Orphan = &ledger.Share{InForce: q.revision}
		if q.revision == forgedRevision { // of what no ledger gave, nothing is told
			c.Reading.Orphan.InForce = 0
		}
	}
}

// says is what the share of a member says, as a variant believes it.
func (w *world) says(l *leader, m int, s step) *shares.Share {
	told, e := &l.shares[m], l.base.entries[clusterNames[m]]
	share := &shares.Share{
		Owner: "uid-" + clusterNames[m], Revision: told.revision, Hard: told.hard.list(),
		Deleting: told.deleting, ToldRemoval: told.removal,
		Report: w.distort(told.report(), e, w.members[m].reachable),
	}
	w.saysOfOthers(told, share)
	if told.removal {
		share.Removal = quotav1alpha1.RemovalRetain
	}
	if demand := s.other(8); demand > 0 {
		share.Demand = amount.List{resourceNames[0]: int64(s>>(9+2*m)) % int64(demand)}
	}
	if w.without == rebuilding && e.Revision > 0 {
		share.Revision, share.Hard, share.Report.Revision = e.Revision, e.Target, min(share.Report.Revision, e.Revision)
	}
	return share
}

// isWarned says whether a member of the ledger told the leader of a rollback when it started, and is not cut off since.
func (w *world) isWarned(l *leader) bool {
	for m, cluster := range clusterNames {
		if _, ok := l.base.entries[cluster]; ok && l.warned[m] && l.read[m] {
			return true
		}
	}
	return false
}

// freeze makes a decision a version to store.
func (w *world) freeze(l *leader, in *shares.Input, d *shares.Decision) {
	next := *l.base
	next.hard, next.counter, next.entries = flat(in.Budget), w.revision(d.Ledger.Revision()), make(map[string]ledger.Entry, clusters)
	next.in, next.noted, next.suspected = [clusters]bool{}, [clusters]bool{}, [clusters]bool{}
	l.orders, l.allows = [clusters]shares.Order{}, [clusters]*shares.TakeOver{}
	for _, v := range d.Verdicts {
		m := int(v.Name[0] - 'a')
		e, known := d.Ledger.Entry(v.Name)
		if !known {
			continue
		}
		e.Revision = w.revision(e.Revision)
		next.entries[v.Name] = e
		next.in[m], next.noted[m] = true, v.Removal != ""
		next.suspected[m] = v.Why.Reason == quotav1alpha1.ReasonMayHoldShare
		next.granted[m], next.target[m] = flat(e.Granted), flat(e.Target)
		l.orders[m], l.allows[m] = v.Order, v.TakeOver
	}
	l.next, l.removed = &next, d.Removed
	if w.logging {
		w.note("decided: %+v", d.Conditions)
	}
}
