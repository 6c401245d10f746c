package observer

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// report returns what was concluded until now.
func (j *judge) report(now time.Time) Report {
	r := Report{
		End:      now,
		Counts:   maps.Clone(j.counts),
		Findings: slices.Clone(j.findings),
		Probes:   j.probes,
		Members:  slices.Clone(j.forgotten),
	}
	for _, m := range j.members {
		member := m.report
		member.Gaps = slices.Clone(member.Gaps)
		r.Members = append(r.Members, member)
	}
	slices.SortFunc(r.Members, func(a, b MemberReport) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range sortedKeys(j.tallies) {
		r.Resources = append(r.Resources, j.tallies[name].snapshot(now, j.epochs.at(now)))
	}
	return r
}

func (t *tally) snapshot(now time.Time, current epoch) ResourceReport {
	r := t.report
	r.Name, r.Last = t.name, t.last.recorded
	r.Budget, r.Ceiling = current.budget[t.name], current.ceiling[t.name]
	r.AboveBudget.Duration += t.aboveFor(now)
	for _, e := range t.excesses {
		r.Excesses = append(r.Excesses, *e)
	}
	return r
}
