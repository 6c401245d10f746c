package observer

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxListed bounds how many findings per kind, and how many unconfirmed excesses per resource name, a report lists;
// all are counted.
const maxListed = 1000

// judge draws the conclusions. It does no I/O, takes no lock and reads no clock: whoever feeds it says when things
// happened, never going back in time.
type judge struct {
	epochs timeline
	// changed is when the budget changed last; a raise or a cut, not a new ceiling.
	changed time.Time
	members map[string]*member
	// forgotten is the reports of members that were taken out.
	forgotten []MemberReport
	tallies   map[corev1.ResourceName]*tally
	probe     *probe
	probes    ProbeReport
	// unknown is the members about which the last probe could not tell.
	unknown  []string
	findings []Finding
	counts   map[FindingKind]int
	news     []Excess
}

// member is what is known of one member cluster.
type member struct {
	last version
	past memory
	// others is the scopes of other managed ResourceQuotas in the same namespace, by name, told those that were found.
	others map[string]string
	told   map[string]bool
	report MemberReport
}

// newJudge returns a judge over members that hold nothing yet.
func newJudge(members []string, budget corev1.ResourceList, now time.Time) *judge {
	j := &judge{
		epochs:  newTimeline(budget, now),
		changed: now,
		members: map[string]*member{},
		tallies: map[corev1.ResourceName]*tally{},
		counts:  map[FindingKind]int{},
	}
	for _, name := range members {
		j.members[name] = &member{report: MemberReport{Name: name}}
	}
	return j
}

// observe takes the next version of the object in a member (nil: absent) and reports whether a probe is wanted.
func (j *judge) observe(name string, rq *corev1.ResourceQuota, arrived time.Time, how step) bool {
	m, ok := j.members[name]
	if !ok {
		return false
	}
	next := newVersion(m.last, rq, arrived, how)
	for _, finding := range compare(m.past, m.last, next) {
		finding.Member, finding.At = name, arrived
		finding.ResourceVersion, finding.Revision = next.resourceVersion, next.revision
		j.find(finding)
	}
	m.take(next)
	j.findSecond(name, m, arrived)
	if s := j.outstanding(name); s != nil {
		s.versions = append(s.versions, next)
		s.measureLag(m)
	}
	wanted := j.measure(arrived)
	j.concludeResolved()
	return wanted
}

// beside takes which other ResourceQuotas in the namespace are managed.
func (j *judge) beside(name string, others map[string]string, arrived time.Time) {
	m, ok := j.members[name]
	if !ok {
		return
	}
	m.others = maps.Clone(others)
	j.findSecond(name, m, arrived)
}

// findSecond finds others that count the same objects. Each is told once for as long as both are there.
func (j *judge) findSecond(name string, m *member, arrived time.Time) {
	seconds := map[string]bool{}
	for _, other := range sortedKeys(m.others) {
		if !m.last.labelled || m.others[other] != m.last.scopes {
			continue
		}
		seconds[other] = true
		if !m.told[other] {
			j.find(
				Finding{
					Kind: SecondQuota, Member: name, ResourceVersion: m.last.resourceVersion, Revision: m.last.revision, At: arrived,
					Message: fmt.Sprintf("ResourceQuota %s is managed as well, and counts the same objects", other),
				},
			)
		}
	}
	m.told = seconds
}

func (m *member) take(next version) {
	m.report.Versions++
	if next.step == stepNext && next.managed && !sameLimits(m.last.spec, next.spec) {
		m.report.Writes++
	}
	if next.step == stepGap {
		m.report.Gaps = append(m.report.Gaps, Gap{At: next.arrived, From: m.last.resourceVersion, To: next.resourceVersion})
	}
	m.past = m.past.after(next)
	m.report.Revision = next.revision
	m.last = next
}

func sameLimits(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, amount := range a {
		other, ok := b[name]
		if !ok || amount.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func (j *judge) find(f Finding) {
	j.counts[f.Kind]++
	if j.counts[f.Kind] <= maxListed {
		j.findings = append(j.findings, f)
	}
}

// resumed records that the watch of a member broke and went on without a loss.
func (j *judge) resumed(name string) {
	if m, ok := j.members[name]; ok {
		m.report.Resumed++
	}
}

// forget takes a member out of the sum: its cluster is destroyed.
func (j *judge) forget(name string, now time.Time) {
	m, ok := j.members[name]
	if !ok {
		return
	}
	j.forgotten = append(j.forgotten, m.report)
	delete(j.members, name)
	if j.probe != nil {
		delete(j.probe.members, name)
	}
	j.measure(now)
	j.concludeResolved()
}

// setBudget changes the budget from an instant on and reports whether a probe is wanted.
func (j *judge) setBudget(budget corev1.ResourceList, from, now time.Time) bool {
	j.epochs = j.epochs.withBudget(budget, from)
	j.changed = j.epochs.last().from
	for _, t := range j.tallies {
		t.floor = nil
	}
	return j.measure(now)
}

// setGranted brings the ceiling down from an instant on and reports whether a probe is wanted.
func (j *judge) setGranted(granted corev1.ResourceList, from, now time.Time) bool {
	j.epochs = j.epochs.withGranted(granted, from)
	return j.measure(now)
}

// measure adds up what has arrived and reports whether a probe is wanted: the sum is above the ceiling, or it moved
// while it is above the budget.
func (j *judge) measure(now time.Time) bool {
	wanted := false
	current := j.epochs.at(now)
	for _, name := range namesOf(current.budget) {
		t := j.tally(name)
		if t.measure(now, j.sum(name), current, j) {
			wanted = true
		}
	}
	for name, t := range j.tallies {
		if _, judged := current.budget[name]; !judged {
			t.close(now)
		}
	}
	return wanted
}

func (j *judge) tally(name corev1.ResourceName) *tally {
	if j.tallies[name] == nil {
		j.tallies[name] = &tally{name: name}
	}
	return j.tallies[name]
}

// total is what all members together hold of one resource name, by arrival.
type total struct{ recorded, held resource.Quantity }

func (j *judge) sum(name corev1.ResourceName) total {
	var all total
	for _, m := range j.members {
		all.recorded = plus(all.recorded, m.last.recorded(name))
		all.held = plus(all.held, m.last.held(name))
	}
	return all
}

func (j *judge) holdings(name corev1.ResourceName) []Holding {
	all := make([]Holding, 0, len(j.members))
	for _, member := range sortedKeys(j.members) {
		all = append(all, holding(member, j.members[member].last, name))
	}
	return all
}

// suspicious reports whether an excess is seen right now, by arrival.
func (j *judge) suspicious() bool {
	for _, t := range j.tallies {
		if t.open != nil {
			return true
		}
	}
	return false
}

// begin starts a probe at now; every member is to be read after that.
func (j *judge) begin(now time.Time) {
	j.probes.Started++
	j.probe = &probe{at: now, members: map[string]*span{}}
	for name, m := range j.members {
		j.probe.members[name] = &span{versions: []version{m.last}}
	}
	j.concludeResolved()
}

// outstanding returns the span of a member in the current probe, or nil.
func (j *judge) outstanding(name string) *span {
	if j.probe == nil {
		return nil
	}
	return j.probe.members[name]
}

// read takes what the read of a member returned for the current probe.
func (j *judge) read(name string, r reading) {
	s := j.outstanding(name)
	if s == nil {
		return
	}
	s.read = &r
	s.measureLag(j.members[name])
	j.concludeResolved()
}

// measureLag notes how much later than the read the watch delivered the version that was read.
func (s *span) measureLag(m *member) {
	if s.read == nil || s.read.resourceVersion == "" {
		return
	}
	last := s.versions[len(s.versions)-1]
	if lag := last.arrived.Sub(
		s.read.at,
	); last.resourceVersion == s.read.resourceVersion &&
		lag > m.report.LongestLag.Duration {
		m.report.LongestLag.Duration = lag
	}
}

// concludeResolved concludes the current probe once nothing is outstanding.
func (j *judge) concludeResolved() {
	if j.probe != nil && j.probe.resolved() {
		j.conclude()
	}
}

// conclude judges the current probe by what is known of it now, and ends it.
func (j *judge) conclude() {
	p := j.probe
	if p == nil {
		return
	}
	j.probe = nil
	if j.unknown = p.unknown(); len(j.unknown) > 0 {
		j.probes.Incomplete++
	}
	for _, name := range sortedKeys(j.tallies) {
		j.tallies[name].conclude(p, j)
	}
}

// tell hands an excess to whoever listens.
func (j *judge) tell(e Excess) {
	j.news = append(j.news, e)
}
