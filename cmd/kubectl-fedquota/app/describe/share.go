package describe

import (
	"fmt"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// noAgent is what is said of a share that nobody has acted on.
const noAgent = "Unknown: no agent has acted on this share. See whether one runs: kubectl get pods -n fedquota-system"

// share prints a QuotaShare.
func (p *printer) share(s *view.Share) {
	p.Field("Name", s.Name)
	p.Field("Namespace", s.Namespace)
	p.Field("Part of", fmt.Sprintf("FederatedQuota %s/%s on the hub", s.Namespace, s.Name))
	p.scopes(s.Scopes)
	p.Field("Revision", revisionOf(s))
	p.summary("Enforced", &s.Head, noAgent, " (the agent has not acted on the present share)")
	p.Printf("\n")
	p.limits(s)
	p.fleet(s)
	p.conditions(s.Conditions)
	p.events(&s.Head)
}

func revisionOf(s *view.Share) string {
	switch s.InForce {
	case s.Revision:
		return fmt.Sprintf("%d, in force", s.Revision)
	case 0:
		return fmt.Sprintf("%d, none is in force yet", s.Revision)
	}
	return fmt.Sprintf("%d, and %d is in force", s.Revision, s.InForce)
}

// limits prints what is used, in force and told.
func (p *printer) limits(s *view.Share) {
	t := &text.Table{Header: []string{"Resource", "Used", "Hard", "Target", "Demand", "", ""}, Rule: true}
	for i := range s.Resources {
		r := &s.Resources[i]
		t.Cells(append(text.Plains(string(r.Resource), r.Used, r.Budget, r.Target, r.Demand), fullness(r)...)...)
	}
	p.Print(t)
	if waiting := unscheduled(s.Unscheduled); waiting != "" {
		p.Printf("\n")
		p.Paragraph(0, text.Plain, waiting)
	}
}

// fleet prints what the hub has told of the whole budget.
func (p *printer) fleet(s *view.Share) {
	if len(s.Fleet) == 0 {
		return
	}
	p.Printf("\nAll clusters together, as the hub told last:\n")
	t := &text.Table{Header: []string{"Resource", "Used", "Budget", "", ""}, Rule: true}
	for i := range s.Fleet {
		r := &s.Fleet[i]
		t.Cells(append(text.Plains(string(r.Resource), r.Used, r.Budget), fullness(r)...)...)
	}
	p.Print(t)
	if len(s.Waiting) > 0 {
		p.Field("Waiting", view.Listed(s.Waiting))
	}
}
