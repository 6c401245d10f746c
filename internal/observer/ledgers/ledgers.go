// Package ledgers judges ledgers on the hub, each by its own versions, and what a child takes up of its pool.
package ledgers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// Ledger names an object of the hub whose ledger is judged: a QuotaPool, or a FederatedQuota.
type Ledger struct{ Kind, Namespace, Name string }

// Key is what reports call it.
func (l Ledger) Key() string {
	if l.Namespace == "" {
		return l.Kind + "/" + l.Name
	}
	return l.Kind + "/" + l.Namespace + "/" + l.Name
}

// Version is what one version of such an object says, as far as it is judged.
type Version struct {
	Metadata struct {
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Revision int64               `json:"revision"`
		Hard     corev1.ResourceList `json:"hard"`
		// Pool is what it has taken up of its pool.
		Pool struct {
			offer `json:",inline"`

			Name string              `json:"name"`
			Cap  corev1.ResourceList `json:"cap"`
		} `json:"pool"`
		// Children are the entries of a QuotaPool, Clusters those of a FederatedQuota.
		Children []entry `json:"children"`
		Clusters []entry `json:"clusters"`
	} `json:"status"`
}

// offer says of which decision something is: of whom, in which tenure, by which revision.
type offer struct {
	UID      string `json:"uid"`
	Tenure   int64  `json:"tenure"`
	Revision int64  `json:"revision"`
}

type entry struct {
	offer `json:",inline"`

	Key     string              `json:"key"`
	Name    string              `json:"name"`
	Granted corev1.ResourceList `json:"granted"`
	Target  corev1.ResourceList `json:"target"`
}

// target returns what the entry is told, and whether it is told anything of the name.
func (e *entry) target(name corev1.ResourceName) (resource.Quantity, bool) {
	told := e.Target
	if told == nil {
		told = e.Granted
	}
	q, known := told[name]
	return q, known
}

func (v *Version) entries() []entry {
	return slices.Concat(v.Status.Children, v.Status.Clusters)
}

// granted returns the sum over all entries, and whether it is known: an entry may stand for any amount.
func (v *Version) granted(name corev1.ResourceName) (sum resource.Quantity, known bool) {
	for _, e := range v.entries() {
		if anything(e.Granted[name]) {
			return sum, false
		}
		sum = quantity.Plus(sum, e.Granted[name])
	}
	return sum, true
}

// anything says whether an amount is what ledgers write where nobody knows what is held: the most that they can count,
// in units or in thousandths of one.
func anything(q resource.Quantity) bool {
	return q.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) == 0 ||
		q.Cmp(*resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)) == 0
}

// Auditor judges ledgers, each by its own versions, which are ordered: no clock is needed. What a child took up of its
// pool is compared with what that offered, in whichever order the two arrive.
type Auditor struct {
	ledgers map[string]*audited
	order   []string
}

type audited struct {
	last   *Version
	report report.LedgerReport
	// offers are the last ones to each child, by its key, and taken is what the ledger itself took up and nobody has
	// offered yet.
	offers map[string][]entry
	taken  *Version
}

// keptOffers is how many offers to one child are remembered.
const keptOffers = 256

// New returns an Auditor of ledgers.
func New(ledgers []Ledger) *Auditor {
	a := &Auditor{ledgers: map[string]*audited{}}
	for _, l := range ledgers {
		a.order = append(a.order, l.Key())
		a.ledgers[l.Key()] = &audited{report: report.LedgerReport{Name: l.Key()}, offers: map[string][]entry{}}
	}
	return a
}

// Observe takes the next version of an object (nil: absent), and returns what it shows.
func (a *Auditor) Observe(key string, next *Version, how judge.Step, now time.Time) []report.Finding {
	l, ok := a.ledgers[key]
	if !ok {
		return nil
	}
	previous := l.last
	l.last = next
	if next == nil || next.Status.Revision == 0 {
		return nil
	}
	l.report.Versions++
	if how == judge.Gap {
		l.report.Gaps++
	}
	if how != judge.Next || previous != nil && previous.Metadata.UID != next.Metadata.UID {
		previous = nil
	}
	var findings []report.Finding
	for _, name := range slices.Sorted(maps.Keys(next.Status.Hard)) {
		findings = append(findings, l.judge(name, previous, next)...)
	}
	findings = append(findings, a.match(key, l)...)
	for i := range findings {
		findings[i].At, findings[i].ResourceVersion = now, next.Metadata.ResourceVersion
	}
	return findings
}

// judge judges what a version says of a resource name; previous is nil where it is not known, or another object.
func (l *audited) judge(name corev1.ResourceName, previous, next *Version) []report.Finding {
	var findings []report.Finding
	add := func(kind report.FindingKind, format string, args ...any) {
		findings = append(findings, report.Finding{
			Kind: kind, Member: l.report.Name, Resource: name, Revision: next.Status.Revision,
			Message: fmt.Sprintf(format, args...),
		})
	}
	budget := next.Status.Hard[name]
	if most, capped := next.Status.Pool.Cap[name]; capped && next.Status.Pool.UID != "" && budget.Cmp(most) > 0 {
		add(report.AboveCap, "its budget is %s, and its pool gives %s", budget.String(), most.String())
	}
	sum, known := next.granted(name)
	if !known {
		return findings
	}
	l.note(name, budget, sum)
	if sum.Cmp(budget) <= 0 || previous == nil {
		return findings
	}
	for _, e := range next.entries() {
		if from, to, raised := e.raised(previous, name); raised {
			add(report.RaisedInDebt, "%s was raised from %s to %s, though %s of %s are granted",
				e.Key+e.Name, from.String(), to.String(), sum.String(), budget.String())
		}
	}
	return findings
}

// note keeps account of what was granted.
func (l *audited) note(name corev1.ResourceName, budget, sum resource.Quantity) {
	at := slices.IndexFunc(l.report.Resources, func(r report.LedgerResource) bool { return r.Name == name })
	if at < 0 {
		l.report.Resources = append(l.report.Resources, report.LedgerResource{Name: name})
		at = len(l.report.Resources) - 1
	}
	r := &l.report.Resources[at]
	r.Budget, r.Largest = budget, quantity.Larger(r.Largest, sum)
	if debt, isAbove := quantity.Above(sum, budget); isAbove {
		r.LargestDebt = quantity.Larger(r.LargestDebt, debt)
	}
}

// raised says whether an entry may have more than in the version before: one of the same child, in the same tenure.
func (e *entry) raised(
	previous *Version, name corev1.ResourceName,
) (from, to resource.Quantity, raised bool) {
	for _, before := range previous.entries() {
		if before.Key != e.Key || before.Name != e.Name {
			continue
		}
		var knew, knows bool
		from, knew = before.target(name)
		to, knows = e.target(name)
		same := before.UID == e.UID && before.Tenure == e.Tenure && before.Revision > 0
		return from, to, same && knew && knows && !anything(before.Granted[name]) && to.Cmp(from) > 0
	}
	return from, to, false
}

// match compares what was taken up with what was offered, of a ledger that has a new version.
func (a *Auditor) match(key string, l *audited) []report.Finding {
	v := l.last
	for _, e := range v.Status.Children {
		offers := l.offers[e.Key]
		if n := len(offers); n == 0 || offers[n-1].offer != e.offer {
			l.offers[e.Key] = append(offers[max(0, n+1-keptOffers):], e)
		}
	}
	l.taken = nil
	if p := &v.Status.Pool; p.UID != "" && p.Revision > 0 && p.Cap != nil {
		l.taken = v
	}
	findings := a.matchTaken(key, l)
	for child := range l.offers {
		if c, known := a.ledgers[child]; known {
			findings = append(findings, a.matchTaken(child, c)...)
		}
	}
	return findings
}

// matchTaken compares what a child has taken up last, unless that was done or nobody has offered it yet.
func (a *Auditor) matchTaken(key string, l *audited) []report.Finding {
	if l.taken == nil {
		return nil
	}
	took := &l.taken.Status.Pool
	pool, known := a.ledgers["QuotaPool/"+took.Name]
	if !known || pool.last == nil || pool.last.Metadata.UID != took.UID {
		return nil
	}
	want := offer{UID: l.taken.Metadata.UID, Tenure: took.Tenure, Revision: took.Revision}
	offers := pool.offers[key]
	at := slices.IndexFunc(offers, func(e entry) bool { return e.offer == want })
	if at < 0 {
		return nil
	}
	l.taken = nil
	var findings []report.Finding
	for _, name := range slices.Sorted(maps.Keys(took.Cap)) {
		most := took.Cap[name]
		if offered, _ := offers[at].target(name); most.Cmp(offered) > 0 {
			findings = append(findings, report.Finding{
				Kind: report.NotOffered, Member: key, Resource: name, Revision: took.Revision,
				Message: fmt.Sprintf("it took up %s, and QuotaPool %s offered %s", most.String(), took.Name, offered.String()),
			})
		}
	}
	return findings
}

// Reports returns what each ledger showed, in the order in which they were given.
func (a *Auditor) Reports() []report.LedgerReport {
	reports := make([]report.LedgerReport, 0, len(a.order))
	for _, key := range a.order {
		r := a.ledgers[key].report
		r.Resources = slices.Clone(r.Resources)
		reports = append(reports, r)
	}
	return reports
}
