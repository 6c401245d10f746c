package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// plan is what applying a FederatedQuota leads to.
type plan struct {
	stored, wanted *quotav1alpha1.FederatedQuota
	// decision is the one at rest, and drained the one once usage above targets has ended.
	decision, drained *round.Decision
	// halted says why the hub manager would not act on the spec, or is empty.
	halted round.Obstacle
	// used is what clusters use that join; uncounted are those of which nobody has counted it.
	used      map[string]amount.List
	uncounted []string
	hints     []string
}

// line is one limit, before and after.
type line struct {
	cluster       string
	name          corev1.ResourceName
	before, after int64
	finally       int64
	used, demand  int64
	held          int64
	note          string
	joins, leaves bool
}

func (l *line) changes() bool {
	return l.before != l.after || l.finally != l.after || l.joins || l.leaves
}

// changes says whether a limit would change.
func (p *plan) changes() bool {
	return slices.ContainsFunc(p.lines(), func(l line) bool { return l.changes() })
}

// lines returns the limits of all clusters, by cluster and name.
func (p *plan) lines() []line {
	before := map[string]*quotav1alpha1.ClusterStatus{}
	if p.stored != nil {
		for i := range p.stored.Status.Clusters {
			before[string(p.stored.Status.Clusters[i].Name)] = &p.stored.Status.Clusters[i]
		}
	}
	var lines []line
	seen := map[string]bool{}
	for i := range p.decision.Verdicts {
		v := &p.decision.Verdicts[i]
		seen[v.Name] = true
		lines = append(lines, p.linesOf(v, before[v.Name])...)
	}
	for name, c := range before {
		if !seen[name] {
			lines = append(lines, gone(name, c)...)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return strings.Compare(a.cluster+"\x00"+string(a.name), b.cluster+"\x00"+string(b.name))
	})
	return lines
}

// gone returns the limits of a cluster that has left.
func gone(name string, c *quotav1alpha1.ClusterStatus) []line {
	e := ledger.EntryOf(c)
	var lines []line
	for resource := range e.Target {
		lines = append(lines, line{cluster: name, name: resource, before: e.Target[resource], leaves: true, note: "leaves"})
	}
	return lines
}

// linesOf returns the limits of a cluster that stays or joins.
func (p *plan) linesOf(v *round.Verdict, status *quotav1alpha1.ClusterStatus) []line {
	after, known := p.decision.Ledger.Entry(v.Name)
	if !known {
		return nil
	}
	before, used, demand := ledger.Entry{}, p.used[v.Name], amount.List{}
	if status != nil {
		before = ledger.EntryOf(status)
		used, demand = amount.Saturate(status.Used, amount.Up), amount.Saturate(status.Demand, amount.Up)
	}
	finally, _ := p.drained.Ledger.Entry(v.Name)
	var lines []line
	for _, name := range amount.Max(before.Target, after.Target).Names() {
		l := line{
			cluster: v.Name, name: name, before: before.Target[name], after: after.Target[name], held: after.Granted[name],
			finally: finally.Target[name],
			used:    used[name], demand: demand[name], joins: status == nil, leaves: v.State == quotav1alpha1.ClusterLeaving,
		}
		l.note = p.note(v, &l)
		lines = append(lines, l)
	}
	return lines
}

// note says what there is to say of a limit.
func (p *plan) note(v *round.Verdict, l *line) string {
	var parts []string
	switch {
	case l.joins:
		parts = append(parts, "joins")
	case l.leaves:
		parts = append(parts, "leaves")
	}
	switch {
	case l.held == ledger.Unknown:
		parts = append(parts, "may hold anything: no limit goes up")
	case l.held > l.after && v.Read:
		parts = append(parts, p.quantity(l.name, l.held-l.after)+" in use must end first")
	case l.held > l.after:
		parts = append(parts, "keeps "+p.quantity(l.name, l.held)+": it cannot be reached")
	case l.demand > 0 && l.used+l.demand > l.after:
		parts = append(parts, p.quantity(l.name, l.used+l.demand-l.after)+" asked for do not fit")
	}
	switch v.State {
	case quotav1alpha1.ClusterSettled, quotav1alpha1.ClusterSettling, quotav1alpha1.ClusterDraining, quotav1alpha1.ClusterLeaving:
	default:
		parts = append(parts, string(v.State))
	}
	return strings.Join(parts, "; ")
}

func (p *plan) quantity(name corev1.ResourceName, value int64) string {
	q := amount.ToQuantity(name, value, p.wanted.Spec.Hard[name].Format)
	return q.String()
}

// print prints the plan.
func (p *plan) print(page *text.Page, all bool) {
	what := "does not exist yet"
	if p.stored != nil {
		what = "exists"
	}
	page.Printf("%s\n", page.Paint(text.Bold, fmt.Sprintf("FederatedQuota %s/%s, which %s", p.wanted.Namespace, p.wanted.Name, what)))
	for _, hint := range p.hints {
		page.Paragraph(2, text.Yellow, hint)
	}
	if p.halted != (round.Obstacle{}) {
		page.Paragraph(2, text.Red, fmt.Sprintf("The hub manager would not act on it (%s): %s", p.halted.Reason, p.halted.Message))
		page.Printf("  All limits would stay as they are.\n")
		return
	}
	p.budget(page)
	p.limits(page, all)
	p.outcome(page)
}

// budget prints how the budget changes.
func (p *plan) budget(page *text.Page) {
	var before corev1.ResourceList
	if p.stored != nil {
		before = p.stored.Status.Hard
	}
	after := p.decision.Ledger.Budget().ToList(p.wanted.Spec.Hard)
	for _, name := range text.Names(before, after) {
		if was, is := text.Amount(before, name), text.Amount(after, name); was != is {
			page.Printf("  budget of %s: %s → %s\n", name, was, is)
		}
	}
}

// limits prints those that change.
func (p *plan) limits(page *text.Page, all bool) {
	lines := p.lines()
	t := &text.Table{Header: []string{"CLUSTER", "RESOURCE", "USED", "DEMAND", "LIMIT", "", "PLANNED", "CHANGE"}, Indent: 2}
	finally := slices.ContainsFunc(lines, func(l line) bool { return l.finally != l.after })
	if finally {
		t.Header = append(t.Header, "FINALLY")
	}
	t.Header = append(t.Header, "NOTE")
	stay := 0
	for i := range lines {
		l := &lines[i]
		if !l.changes() && !all {
			stay++
			continue
		}
		t.Cells(p.cells(l, finally)...)
	}
	if t.Len() > 0 {
		page.Printf("\n")
		page.Print(t)
	}
	switch {
	case t.Len() == 0:
		page.Printf("\n  No limit changes.\n")
	case stay > 0:
		page.Printf("  and %d limits that stay (--all shows them)\n", stay)
	}
	page.Printf("\n")
}

func (p *plan) cells(l *line, finally bool) []text.Cell {
	before, change := p.quantity(l.name, l.before), "-"
	style := text.Plain
	if l.joins {
		before = "none"
	}
	switch {
	case l.after > l.before:
		change, style = "+"+p.quantity(l.name, l.after-l.before), text.Green
	case l.after < l.before:
		change, style = "-"+p.quantity(l.name, l.before-l.after), text.Yellow
	}
	demand := "-"
	if l.demand > 0 {
		demand = p.quantity(l.name, l.demand)
	}
	cells := []text.Cell{
		{Text: l.cluster}, {Text: string(l.name)}, {Text: p.quantity(l.name, l.used)}, {Text: demand}, {Text: before}, {Text: "→"},
		{Text: p.quantity(l.name, l.after)}, {Text: change, Style: style},
	}
	if finally {
		cells = append(cells, text.Cell{Text: p.quantity(l.name, l.finally)})
	}
	return append(cells, text.Cell{Text: l.note})
}

// outcome prints what conditions there are once limits have come to rest.
func (p *plan) outcome(page *text.Page) {
	conditions := p.decision.Conditions()
	ready := apimeta.FindStatusCondition(conditions, quotav1alpha1.ConditionReady)
	style := text.Green
	if ready.Status != metav1.ConditionTrue {
		style = text.Yellow
	}
	page.Paragraph(2, style, fmt.Sprintf("Ready will be %s (%s): %s", ready.Status, ready.Reason, ready.Message))
	for i := range conditions {
		switch c := &conditions[i]; c.Type {
		case quotav1alpha1.ConditionReady, quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled:
		default:
			page.Paragraph(2, text.Yellow, fmt.Sprintf("%s: %s", c.Type, c.Message))
			if advice := view.Advice(c.Type, p.wanted.Name); advice != "" {
				page.Paragraph(4, text.Dim, "→ "+advice)
			}
		}
	}
	p.unknown(page)
}

// unknown says of which clusters nobody knows what they use.
func (p *plan) unknown(page *text.Page) {
	var joining []string
	for _, l := range p.lines() {
		if l.joins && slices.Contains(p.uncounted, l.cluster) && !slices.Contains(joining, l.cluster) {
			joining = append(joining, l.cluster)
		}
	}
	if len(joining) > 0 {
		page.Paragraph(2, text.Dim, "Nobody has counted what is used in "+strings.Join(joining, ", ")+
			", which counts as nothing here. More may become debt.")
	}
}
