package describe

import (
	"fmt"
	"strings"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// pool prints a QuotaPool.
func (p *printer) pool(b *view.PoolBudget) {
	p.Field("Name", b.Name)
	if b.Mode == quotav1alpha1.RebalanceStatic {
		p.Field("Mode", "Static: split by weight, min and max")
	} else {
		p.Field("Mode", "Auto: parts follow demand")
	}
	if len(b.Reserve) > 0 {
		p.Field("Reserve", text.Join(b.Reserve)+" of hard are never handed out")
	}
	p.capacity(&b.Head)
	if b.Parent != nil {
		p.Field("Parent", b.Parent.Sentence())
	}
	p.Field("Namespaces", b.Namespaces)
	settled, children, _ := strings.Cut(b.Settled, "/")
	if children == "" {
		settled, children = "none", "none known yet"
	}
	p.Field("Children", fmt.Sprintf("%s, %s keep to their target", children, settled))
	p.summary("Ready", &b.Head, noManager, " (of an earlier spec: the hub manager has not seen the present one)")
	p.Printf("\n")
	p.totals(b.Resources)
	p.children(b.Children)
	p.conditions(b.Conditions)
	p.events(&b.Head)
}

// children prints what each child holds.
func (p *printer) children(children []view.Child) {
	if len(children) == 0 {
		return
	}
	p.Printf("\n")
	t := holders("Child")
	for i := range children {
		c := &children[i]
		p.holder(t, c.Name, text.Cell{Text: string(c.State), Style: cli.ChildStyle(c.State)}, c.Since, c.Resources, c.Message)
	}
	p.Print(t)
}
