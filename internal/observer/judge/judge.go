// Package judge adds up what members hold, version by version, and concludes from that and from probes whether more
// was ever in force than was allowed. The comment of package observer says how.
package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// maxListed bounds how many findings per kind, and how many unconfirmed excesses per resource name, a report lists;
// all are counted.
const maxListed = 1000

// Judge draws the conclusions. It does no I/O, takes no lock and reads no clock: whoever feeds it says when things
// happened, never going back in time.
type Judge struct {
	epochs timeline
	// changed is when the budget changed last; a raise or a cut, not a new ceiling.
	changed time.Time
	members map[string]*member
	// forgotten is the reports of members that were taken out.
	forgotten []report.MemberReport
	tallies   map[corev1.ResourceName]*tally
	probe     *probe
	probes    report.ProbeReport
	// unknown is the members about which the last probe could not tell.
	unknown  []string
	findings []report.Finding
	counts   map[report.FindingKind]int
	news     []report.Excess
}

// member is what is known of one member cluster.
type member struct {
	last version
	past memory
	// others is the scopes of other managed ResourceQuotas in the same namespace, by name, told those that were found.
	others map[string]string
	told   map[string]bool
	report report.MemberReport
}

// New returns a judge over members that hold nothing yet.
func New(members []string, budget corev1.ResourceList, now time.Time) *Judge {
	j := &Judge{
		epochs:  newTimeline(budget, now),
		changed: now,
		members: map[string]*member{},
		tallies: map[corev1.ResourceName]*tally{},
		counts:  map[report.FindingKind]int{},
	}
	for _, name := range members {
		j.members[name] = &member{report: report.MemberReport{Name: name}}
	}
	return j
}

// Observe takes the next version of the object in a member (nil: absent) and reports whether a probe is wanted.
func (j *Judge) Observe(name string, rq *corev1.ResourceQuota, arrived time.Time, how Step) bool {
	m, ok := j.members[name]
	if !ok {
		return false
	}
	next := newVersion(m.last, rq, arrived, how)
	for _, finding := range compare(m.past, m.last, next) {
		finding.Member, finding.At = name, arrived
		finding.ResourceVersion, finding.Revision = next.resourceVersion, next.revision
		j.Find(finding)
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

// Beside takes which other ResourceQuotas in the namespace are managed.
func (j *Judge) Beside(name string, others map[string]string, arrived time.Time) {
	m, ok := j.members[name]
	if !ok {
		return
	}
	m.others = maps.Clone(others)
	j.findSecond(name, m, arrived)
}

// findSecond finds others that count the same objects. Each is told once for as long as both are there.
func (j *Judge) findSecond(name string, m *member, arrived time.Time) {
	seconds := map[string]bool{}
	for _, other := range slices.Sorted(maps.Keys(m.others)) {
		if !m.last.labelled || m.others[other] != m.last.scopes {
			continue
		}
		seconds[other] = true
		if !m.told[other] {
			j.Find(
				report.Finding{
					Kind: report.SecondQuota, Member: name, At: arrived,
					ResourceVersion: m.last.resourceVersion, Revision: m.last.revision,
					Message: fmt.Sprintf("ResourceQuota %s is managed as well, and counts the same objects", other),
				},
			)
		}
	}
	m.told = seconds
}

func (m *member) take(next version) {
	m.report.Versions++
	if next.step == Next && next.managed && !quotav1.Equals(m.last.spec, next.spec) {
		m.report.Writes++
	}
	if next.step == Gap {
		gap := report.Gap{At: next.arrived, From: m.last.resourceVersion, To: next.resourceVersion}
		m.report.Gaps = append(m.report.Gaps, gap)
	}
	m.past = m.past.after(next)
	m.report.Revision = next.revision
	m.last = next
}

// Find notes a finding.
func (j *Judge) Find(f report.Finding) {
	j.counts[f.Kind]++
	if j.counts[f.Kind] <= maxListed {
		j.findings = append(j.findings, f)
	}
}

// Resumed records that the watch of a member broke and went on without a loss.
func (j *Judge) Resumed(name string) {
	if m, ok := j.members[name]; ok {
		m.report.Resumed++
	}
}

// Forget takes a member out of the sum: its cluster is destroyed.
func (j *Judge) Forget(name string, now time.Time) {
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

// Announce allows the larger of the present budget and another one from now on, and says whether a probe is wanted.
func (j *Judge) Announce(budget corev1.ResourceList, now time.Time) bool {
	return j.SetBudget(raisedTo(j.epochs.last().budget, budget), now, now)
}

// SetBudget changes the budget from an instant on and reports whether a probe is wanted.
func (j *Judge) SetBudget(budget corev1.ResourceList, from, now time.Time) bool {
	j.epochs = j.epochs.withBudget(budget, from)
	j.changed = j.epochs.last().from
	for _, t := range j.tallies {
		t.floor = nil
	}
	return j.measure(now)
}

// SetGranted brings the ceiling down from an instant on and reports whether a probe is wanted.
func (j *Judge) SetGranted(granted corev1.ResourceList, from, now time.Time) bool {
	j.epochs = j.epochs.withGranted(granted, from)
	return j.measure(now)
}

// measure adds up what has arrived and reports whether a probe is wanted: the sum is above the ceiling, or it moved
// while it is above the budget.
func (j *Judge) measure(now time.Time) bool {
	wanted := false
	current := j.epochs.at(now)
	for _, name := range slices.Sorted(maps.Keys(current.budget)) {
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

func (j *Judge) tally(name corev1.ResourceName) *tally {
	if j.tallies[name] == nil {
		j.tallies[name] = &tally{name: name}
	}
	return j.tallies[name]
}

// total is what all members together hold of one resource name, by arrival.
type total struct{ recorded, held resource.Quantity }

func (j *Judge) sum(name corev1.ResourceName) total {
	var all total
	for _, m := range j.members {
		all.recorded = quantity.Plus(all.recorded, m.last.recorded(name))
		all.held = quantity.Plus(all.held, m.last.held(name))
	}
	return all
}

func (j *Judge) holdings(name corev1.ResourceName) []report.Holding {
	all := make([]report.Holding, 0, len(j.members))
	for _, member := range slices.Sorted(maps.Keys(j.members)) {
		all = append(all, holding(member, j.members[member].last, name))
	}
	return all
}

// Suspicious reports whether an excess is seen right now, by arrival.
func (j *Judge) Suspicious() bool {
	for _, t := range j.tallies {
		if t.open != nil {
			return true
		}
	}
	return false
}

// Begin starts a probe at now; every member is to be read after that.
func (j *Judge) Begin(now time.Time) {
	j.probes.Started++
	j.probe = &probe{at: now, members: map[string]*span{}}
	for name, m := range j.members {
		j.probe.members[name] = &span{versions: []version{m.last}}
	}
	j.concludeResolved()
}

// outstanding returns the span of a member in the current probe, or nil.
func (j *Judge) outstanding(name string) *span {
	if j.probe == nil {
		return nil
	}
	return j.probe.members[name]
}

// Read takes what the read of a member returned for the current probe.
func (j *Judge) Read(name string, r Reading) {
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
	if s.read == nil || s.read.ResourceVersion == "" {
		return
	}
	last := s.versions[len(s.versions)-1]
	if lag := last.arrived.Sub(
		s.read.At,
	); last.resourceVersion == s.read.ResourceVersion &&
		lag > m.report.LongestLag.Duration {
		m.report.LongestLag.Duration = lag
	}
}

// Probing says whether a probe is open.
func (j *Judge) Probing() bool { return j.probe != nil }

// Unknown returns the members about which the last probe could not tell.
func (j *Judge) Unknown() []string { return j.unknown }

// News returns the excesses that were proved since it was called last.
func (j *Judge) News() []report.Excess {
	news := j.news
	j.news = nil
	return news
}

// concludeResolved concludes the current probe once nothing is outstanding.
func (j *Judge) concludeResolved() {
	if j.probe != nil && j.probe.resolved() {
		j.Conclude()
	}
}

// Conclude judges the current probe by what is known of it now, and ends it.
func (j *Judge) Conclude() {
	p := j.probe
	if p == nil {
		return
	}
	j.probe = nil
	if j.unknown = p.unknown(); len(j.unknown) > 0 {
		j.probes.Incomplete++
	}
	for _, name := range slices.Sorted(maps.Keys(j.tallies)) {
		j.tallies[name].conclude(p, j)
	}
}
