package judge

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/fedquota/fedquota/internal/observer/report"
)

// Report returns what was concluded until now.
func (j *Judge) Report(now time.Time) report.Report {
	r := report.Report{
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
	slices.SortFunc(r.Members, func(a, b report.MemberReport) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(j.tallies)) {
		r.Resources = append(r.Resources, j.tallies[name].snapshot(now, j.epochs.at(now)))
	}
	return r
}

func (t *tally) snapshot(now time.Time, current epoch) report.ResourceReport {
	r := t.report
	r.Name, r.Last = t.name, t.last.recorded
	r.Budget, r.Ceiling = current.budget[t.name], current.ceiling[t.name]
	r.AboveBudget.Duration += t.aboveFor(now)
	for _, e := range t.excesses {
		r.Excesses = append(r.Excesses, *e)
	}
	return r
}

// Allowed returns the budget at an instant, and the ceiling while an earlier, larger one drains.
func (j *Judge) Allowed(now time.Time) (budget, ceiling corev1.ResourceList) {
	current := j.epochs.at(now)
	return current.budget, current.ceiling
}

// Charged returns what all members have charged, and the part of it that native quota let rise above limits in force.
func (j *Judge) Charged() (used, overcharged corev1.ResourceList) {
	for _, m := range j.members {
		used, overcharged = quotav1.Add(used, m.last.used), quotav1.Add(overcharged, m.last.overcharged)
	}
	return used, overcharged
}
