package tree

import (
	"cmp"
	"slices"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// print prints trees for people.
func (o *Options) print(trees []*view.Node) error {
	page := o.env.Page(o.env.Out)
	for i, tree := range trees {
		if i > 0 {
			page.Printf("\n")
		}
		header := []string{"Name", "State", "Resource", "Used", "Demand", "Granted", "Budget", "Free", "Part", ""}
		t := &text.Table{Header: header, Rule: true}
		tree.Draw(func(n *view.Node, first, others string) { add(t, n, first, others) })
		page.Print(t)
	}
	return page.Err()
}

// add adds the lines of a node behind its branches.
func add(t *text.Table, n *view.Node, first, others string) {
	style := cli.ChildStyle(n.State)
	head := []text.Cell{{Text: first + n.Title()}, {Text: cmp.Or(string(n.State), stateOf(n)), Style: style}}
	if len(n.Resources) == 0 {
		t.Cells(append(head, text.Plains("", "", "", "", "", "", "", "")...)...)
	}
	for i := range n.Resources {
		l := &n.Resources[i]
		cells := text.Plains(string(l.Resource), l.Used, l.Demand, l.Granted, l.Budget, l.Free, l.Part)
		if l.Debt != "" {
			cells[5] = text.Cell{Text: "debt " + l.Debt, Style: text.Red}
		}
		t.Cells(append(append(slices.Clone(head), cells...), lending(l))...)
		head = []text.Cell{{Text: others}, {}}
	}
	if n.Message != "" {
		t.Note(text.Dim, n.Title()+": "+n.Message)
	}
}

// stateOf says how a pool without an entry stands.
func stateOf(n *view.Node) string {
	switch {
	case n.Ready == "True":
		return "Ready"
	case n.Ready != "":
		return "not ready"
	}
	return "-"
}

// lending says what is lent.
func lending(l *view.Level) text.Cell {
	switch {
	case l.Lends != "":
		return text.Cell{Text: "lends " + l.Lends, Style: text.Green}
	case l.Lent != "":
		return text.Cell{Text: "has " + l.Lent + " of others", Style: text.Yellow}
	}
	return text.Cell{}
}
