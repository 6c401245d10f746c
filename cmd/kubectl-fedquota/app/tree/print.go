package tree

import (
	"cmp"
	"slices"
	"strings"

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
		add(t, tree, "", "")
		page.Print(t)
	}
	return page.Err()
}

// add adds the lines of a node behind a branch, and those below it.
func add(t *text.Table, n *view.Node, branch, stem string) {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "/" + n.Name
	}
	style := cli.ChildStyle(n.State)
	head := []text.Cell{{Text: branch + name}, {Text: cmp.Or(string(n.State), stateOf(n)), Style: style}}
	below := ""
	if len(n.Children) > 0 {
		below = "│"
	}
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
		head = []text.Cell{{Text: strings.TrimRight(stem+below, " ")}, {}}
	}
	if n.Message != "" {
		t.Note(text.Dim, name+": "+n.Message)
	}
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			add(t, child, stem+"├─ ", stem+"│  ")
		} else {
			add(t, child, stem+"└─ ", stem+"   ")
		}
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
