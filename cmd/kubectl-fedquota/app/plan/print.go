package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// show prints a plan for people, with the limits that stay if all are to be shown.
func show(page *text.Page, p *view.Plan, all bool) error {
	what := "does not exist yet"
	if p.Exists {
		what = "exists"
	}
	name := "FederatedQuota " + p.Namespace + "/" + p.Name
	if p.Kind != "" {
		name = p.Kind + " " + p.Name
	}
	page.Printf("%s\n", page.Paint(text.Bold, name+", which "+what))
	for _, hint := range p.Hints {
		page.Paragraph(2, text.Yellow, hint)
	}
	if p.HaltedReason == notPlanned {
		page.Paragraph(2, text.Yellow, "It is not planned what becomes of it: "+p.Halted)
		return page.Err()
	}
	if p.HaltedReason != "" {
		page.Paragraph(2, text.Red, fmt.Sprintf("The hub manager would not act on it (%s): %s", p.HaltedReason, p.Halted))
		page.Printf("  All limits would stay as they are.\n")
		return page.Err()
	}
	for _, c := range p.Budget {
		page.Printf("  budget of %s: %s → %s\n", c.Resource, cmp.Or(c.Before, "-"), cmp.Or(c.After, "-"))
	}
	if p.ScaleOut != "" {
		page.Paragraph(2, text.Plain, "nodes: "+p.ScaleOut)
	}
	limits(page, p, all)
	if p.Kind == "" {
		outcome(page, p)
	} else if len(p.Debt) > 0 {
		page.Paragraph(2, text.Yellow, "Debt: more is granted than the budget has, and nobody is raised: "+text.Counted(p.Debt))
	}
	return page.Err()
}

// limits prints those that change.
func limits(page *text.Page, p *view.Plan, all bool) {
	limits, words := p.Limits, [...]string{"CLUSTER", "LIMIT", "limit"}
	if p.Kind != "" {
		words = [...]string{"CHILD", "TARGET", "target"}
	}
	header := []string{words[0], "RESOURCE", "USED", "DEMAND", words[1], "", "PLANNED", "CHANGE"}
	t := &text.Table{Header: header, Indent: 2}
	finally := slices.ContainsFunc(limits, func(l view.PlannedLimit) bool { return l.Finally != l.Planned })
	if finally {
		t.Header = append(t.Header, "FINALLY")
	}
	t.Header = append(t.Header, "NOTE")
	stay := 0
	for i := range limits {
		l := &limits[i]
		if !l.Changes() && !all {
			stay++
			continue
		}
		t.Cells(cells(l, finally)...)
	}
	if t.Len() > 0 {
		page.Printf("\n")
		page.Print(t)
	}
	switch {
	case t.Len() == 0:
		page.Printf("\n  No %s changes.\n", words[2])
	case stay > 0:
		page.Printf("  and %d %ss that stay (--all shows them)\n", stay, words[2])
	}
	page.Printf("\n")
}

func cells(l *view.PlannedLimit, finally bool) []text.Cell {
	before, demand, change := l.Before, l.Demand, text.Plains(l.Change)[0]
	if l.Joins {
		before = "none"
	}
	if demand == "0" {
		demand = "-"
	}
	switch {
	case strings.HasPrefix(l.Change, "+"):
		change.Style = text.Green
	case l.Change != "":
		change.Style = text.Yellow
	}
	cells := append(text.Plains(l.Cluster+l.Child, string(l.Resource), l.Used, demand, before, "→", l.Planned), change)
	if finally {
		cells = append(cells, text.Cell{Text: l.Finally})
	}
	return append(cells, text.Cell{Text: l.Note})
}

// outcome prints what conditions there are once limits have come to rest.
func outcome(page *text.Page, p *view.Plan) {
	ready := apimeta.FindStatusCondition(p.Conditions, quotav1alpha1.ConditionReady)
	style := text.Green
	if ready.Status != metav1.ConditionTrue {
		style = text.Yellow
	}
	page.Paragraph(2, style, fmt.Sprintf("Ready will be %s (%s): %s", ready.Status, ready.Reason, ready.Message))
	for _, c := range p.Conditions {
		switch c.Type {
		case quotav1alpha1.ConditionReady, quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled:
		default:
			page.Paragraph(2, text.Yellow, fmt.Sprintf("%s: %s", c.Type, c.Message))
			if advice := view.Advice(c.Type, p.Name); advice != "" {
				page.Paragraph(4, text.Dim, "→ "+advice)
			}
		}
	}
	if len(p.Uncounted) > 0 {
		page.Paragraph(2, text.Dim, "Nobody has counted what is used in "+strings.Join(p.Uncounted, ", ")+
			", which counts as nothing here. More may become debt.")
	}
}
