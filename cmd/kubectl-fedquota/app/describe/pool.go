package describe

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
	t := &text.Table{Header: []string{"Child", "State", "Since", "Resource", "Used", "Demand", "Target", "Granted"}, Rule: true}
	for i := range children {
		c := &children[i]
		head := []text.Cell{
			{Text: c.Name}, {Text: string(c.State), Style: cli.ChildStyle(c.State)},
			{Text: text.Since(p.now, ptr.Deref(c.Since, metav1.Time{}))},
		}
		for _, r := range c.Resources {
			granted := text.Plains(r.Granted)[0]
			if r.Granted != r.Target {
				granted.Style = text.Yellow
			}
			t.Cells(append(append(slices.Clone(head), text.Plains(string(r.Resource), r.Used, r.Demand, r.Target)...), granted)...)
			head = make([]text.Cell, len(head))
		}
		if c.Message != "" {
			t.Note(text.Dim, c.Message)
		}
	}
	p.Print(t)
}
