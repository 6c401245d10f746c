package explain

import (
	"fmt"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// show prints an explanation for people.
func show(page *text.Page, e *view.Explanation) error {
	if e.Kind == "" {
		page.Printf("FederatedQuota %s/%s\n", e.Namespace, e.Name)
	} else {
		page.Printf("%s %s\n", e.Kind, e.Name)
	}
	for _, hint := range e.Hints {
		page.Paragraph(0, text.Yellow, hint)
	}
	if e.Pool != nil {
		page.Paragraph(0, text.Plain, "Pool "+e.Pool.Sentence()+".")
	}
	for i := range e.Climb {
		e.Climb[i].Print(page)
	}
	switch {
	case e.HaltedReason == "":
	case e.Kind == "":
		page.Paragraph(0, text.Red, fmt.Sprintf("All limits stay as they are: the spec cannot be acted on (%s): %s", e.HaltedReason, e.Halted))
	default:
		page.Paragraph(0, text.Red, fmt.Sprintf("All targets stay as they are (%s): %s", e.HaltedReason, e.Halted))
	}
	if e.Unseen {
		page.Paragraph(0, text.Yellow, "No hub manager has acted on this budget yet. See whether one runs: kubectl get pods -n fedquota-system")
	}
	for i := range e.Resources {
		r := &e.Resources[i]
		head := headOf(r)
		if e.Kind != "" {
			head = poolWords.Replace(head)
		}
		page.Printf("\n%s: %s\n", page.Paint(text.Bold, string(r.Resource)), head)
		for j := range r.Limits {
			limit(page, &r.Limits[j])
		}
	}
	return page.Err()
}

// wordOf says what is explained.
func wordOf(l *view.ExplainedLimit) string {
	if l.Child != "" {
		return "target"
	}
	return "limit"
}

// headOf says how full the budget is of a resource name.
func headOf(r *view.ExplainedResource) string {
	line := fmt.Sprintf("%s of %s used", r.Used, r.Budget)
	if r.Demand != "" {
		line += fmt.Sprintf(", %s more asked for", r.Demand)
	}
	switch r.Debt {
	case "":
		return line + fmt.Sprintf(", %s free", r.Free)
	case view.Unknown:
		return line + ", and a cluster that was not read may hold anything"
	}
	return line + fmt.Sprintf(", %s of debt: no limit goes up", r.Debt)
}

// limit prints why one is what it is.
func limit(page *text.Page, l *view.ExplainedLimit) {
	head := fmt.Sprintf("%s %s, uses %s", wordOf(l), l.Limit, l.Used)
	if l.Demand != "" {
		head += fmt.Sprintf(", asks for %s more", l.Demand)
	}
	page.Printf("\n  %s  %s\n", page.Paint(cli.StateStyle(l.State), text.Elide(l.Cluster+l.Child, 40)), head)
	for _, sentence := range l.Sentences {
		page.Paragraph(4, text.Plain, sentence)
	}
}
