package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/internal/observer"
)

// result is what a scenario showed, for the table in docs/evidence/safety.md.
type result struct {
	Scenario string `json:"scenario"`
	// Of is what of the scenario it is about, where that has several budgets: a namespace, or a QuotaPool.
	Of      string  `json:"of,omitempty"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
	Members int     `json:"members"`
	// Load is what the writers did, Faults what was done to the system.
	Load   loadCount `json:"load"`
	Faults []string  `json:"faults,omitempty"`
	// LimitWrites counts changes of spec.hard in all members.
	LimitWrites int `json:"limitWrites"`
	// Confirmed is the largest proved excess by resource, Unconfirmed the largest by arrival alone with the longest time
	// that one was seen, Native what native quota charged above its own limit.
	Confirmed          corev1.ResourceList `json:"confirmed,omitempty"`
	Unconfirmed        corev1.ResourceList `json:"unconfirmed,omitempty"`
	UnconfirmedSeconds float64             `json:"unconfirmedSeconds"`
	Native             corev1.ResourceList `json:"native,omitempty"`
	// Existing is, by resource, the recount in which most of what was allowed existed.
	Existing map[corev1.ResourceName]existing `json:"existing,omitempty"`
	// NativeAlone and Naive are what the same load showed without fedquota, where that was measured.
	NativeAlone         *baseline `json:"nativeAlone,omitempty"`
	Naive               *baseline `json:"naive,omitempty"`
	LongestLagSeconds   float64   `json:"longestLagSeconds"`
	LongestSettleSecond float64   `json:"longestSettleSeconds"`
}

// existing is what existed of a resource over all members, and what was allowed: the budget, or what was granted before
// a cut.
type existing struct {
	Exists  resource.Quantity `json:"exists"`
	Allowed resource.Quantity `json:"allowed"`
}

func (e existing) part() float64 {
	return e.Exists.AsApproximateFloat64() / e.Allowed.AsApproximateFloat64()
}

// baseline is what an observer saw of plain ResourceQuotas: proved excess, what native quota charged above its own
// limits, how much more than that existed at the end, and for how long the sum was above the budget, by arrival.
type baseline struct {
	Load         loadCount           `json:"load"`
	Confirmed    corev1.ResourceList `json:"confirmed,omitempty"`
	Native       corev1.ResourceList `json:"native,omitempty"`
	Over         corev1.ResourceList `json:"over,omitempty"`
	AboveSeconds float64             `json:"aboveSeconds"`
	Seconds      float64             `json:"seconds"`
}

// String is what stands in the table.
func (b *baseline) String() string {
	if b == nil {
		return "-"
	}
	var parts []string
	if len(b.Confirmed) > 0 {
		parts = append(parts, strings.Trim(text(b.Confirmed), "{}"))
	}
	if b.AboveSeconds > 0 {
		parts = append(parts, fmt.Sprintf("above for %.1f of %.0f s", b.AboveSeconds, b.Seconds))
	}
	if len(b.Native) > 0 {
		parts = append(parts, "overcharge "+strings.Trim(text(b.Native), "{}"))
	}
	if len(b.Over) > 0 {
		parts = append(parts, "existed too much "+strings.Trim(text(b.Over), "{}"))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// loadCount is what the writers of a scenario did.
type loadCount struct {
	Writers int   `json:"writers"`
	Created int64 `json:"created"`
	Refused int64 `json:"refused"`
	Deleted int64 `json:"deleted"`
	Failed  int64 `json:"failed"`
}

// test is the name of the test that the scenario is of.
func (r *result) test() string {
	test, _, _ := strings.Cut(r.Scenario, "/")
	return test
}

// results are those of all scenarios that have ended.
var results struct {
	sync.Mutex
	list []result
}

func record(more ...result) {
	results.Lock()
	defer results.Unlock()
	results.list = append(results.list, more...)
}

func (r *result) longestSettle(d time.Duration) {
	r.LongestSettleSecond = max(r.LongestSettleSecond, d.Seconds())
}

// take adds what an observer saw; a scenario may have several, one after another.
func (r *result) take(report observer.Report) {
	r.takeExcess(report.Resources, report.End)
	for _, m := range report.Members {
		r.LimitWrites += m.Writes
		r.LongestLagSeconds = max(r.LongestLagSeconds, m.LongestLag.Seconds())
	}
}

// levelsOf returns what an observer saw of pools, of whose places it judged no budget by itself.
func levelsOf(scenario string, report observer.Report) []result {
	list := make([]result, len(report.Levels))
	for i, level := range report.Levels {
		r := &list[i]
		r.take(report)
		r.takeExcess(level.Resources, report.End)
		r.Scenario, r.Of = scenario, "QuotaPool "+level.Name
		r.Seconds, r.Passed = report.End.Sub(report.Start).Round(100*time.Millisecond).Seconds(), len(report.Violations()) == 0
	}
	return list
}

func (r *result) takeExcess(resources []observer.ResourceReport, end time.Time) {
	for _, res := range resources {
		r.Native = largest(r.Native, res.Name, res.LargestNative)
		r.UnconfirmedSeconds = max(r.UnconfirmedSeconds, res.LongestUnconfirmed(end).Seconds())
		for _, e := range res.Excesses {
			if e.Confirmed {
				r.Confirmed = largest(r.Confirmed, res.Name, e.Certain)
			} else {
				r.Unconfirmed = largest(r.Unconfirmed, res.Name, e.Largest)
			}
		}
	}
}

// count keeps the largest recount of each resource of which anything is allowed.
func (r *result) count(recount census.Recount) {
	if r.Existing == nil {
		r.Existing = map[corev1.ResourceName]existing{}
	}
	for _, res := range recount.Resources {
		e := existing{Exists: res.Exists, Allowed: res.Ceiling}
		if before, known := r.Existing[res.Name]; res.Ceiling.Sign() > 0 && (!known || e.part() > before.part()) {
			r.Existing[res.Name] = e
		}
	}
}

// existed is what stands in the table.
func (r *result) existed() string {
	if len(r.Existing) == 0 {
		return "-"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Existing)) {
		e := r.Existing[name]
		parts = append(parts, fmt.Sprintf("%s %s of %s", name, e.Exists.String(), e.Allowed.String()))
	}
	return strings.Join(parts, ", ")
}

// largest keeps the largest amount of a name; zero is left out.
func largest(list corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) corev1.ResourceList {
	before := list[name]
	if amount.Cmp(before) <= 0 {
		return list
	}
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = amount
	return list
}
