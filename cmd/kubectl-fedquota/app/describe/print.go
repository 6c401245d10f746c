package describe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// noManager is what is said of a budget that nobody has acted on.
const noManager = "Unknown: no hub manager has acted on this object. See whether one runs: kubectl get pods -n fedquota-system"

// printer prints views for people.
type printer struct {
	*text.Page

	now time.Time
}

// budget prints a FederatedQuota.
func (p *printer) budget(b *view.Budget) {
	p.Field("Name", b.Name)
	p.Field("Namespace", b.Namespace)
	p.Field("Mode", modeOf(b))
	p.scopes(b.Scopes)
	if len(b.Reserve) > 0 {
		p.Field("Reserve", text.Join(b.Reserve)+" of hard are never handed out")
	}
	p.capacity(&b.Head)
	if b.Pool != nil {
		p.Field("Pool", b.Pool.Sentence())
	}
	p.Field("Placement", b.Placement)
	p.Field("Clusters", clustersOf(b))
	p.summary("Ready", &b.Head, noManager, " (of an earlier spec: the hub manager has not seen the present one)")
	p.Printf("\n")
	p.totals(b.Resources)
	p.clusters(b.Clusters)
	p.conditions(b.Conditions)
	p.events(&b.Head)
}

// capacity prints what a budget is made from that follows the nodes of clusters.
func (p *printer) capacity(h *view.Head) {
	if h.Capacity != "" {
		p.Field("Capacity", h.Capacity)
	}
	if s := h.ScaleOut; s != nil {
		p.Field("Nodes", s.Message)
		if s.LastStep != "" {
			p.Field("Last step", text.Since(p.now, *s.LastStepTime)+" ago"+outcomes[s.Outcome]+": "+s.LastStep)
		}
	}
}

// outcomes are what has become of a step, in words.
var outcomes = map[quotav1alpha1.ScaleOutOutcome]string{
	quotav1alpha1.ScaleOutLanded:         ", done",
	quotav1alpha1.ScaleOutBroughtNothing: ", which brought nothing",
	quotav1alpha1.ScaleOutUndone:         ", undone since",
}

func modeOf(b *view.Budget) string {
	switch {
	case b.Mode == quotav1alpha1.RebalanceStatic:
		return "Static: split by weight, min and max"
	case b.WaitMilliseconds == nil:
		return "Auto: limits follow demand; no request waits"
	}
	return fmt.Sprintf("Auto: limits follow demand; a request that does not fit waits up to %d ms for a raise", *b.WaitMilliseconds)
}

// scopes prints what is counted, if that is not everything.
func (p *printer) scopes(scopes []string) {
	if len(scopes) > 0 {
		p.Field("Scopes", strings.Join(scopes, "; "))
	}
}

func clustersOf(b *view.Budget) string {
	settled, selected, _ := strings.Cut(b.Settled, "/")
	if selected == "" {
		return "none known yet"
	}
	return fmt.Sprintf("%s selected, %s enforce their target", selected, settled)
}

// summary prints the condition that sums an object up, and what is said if there is none, or one of an earlier spec.
func (p *printer) summary(name string, head *view.Head, none, outdated string) {
	words := none
	if c := head.Summary; c != nil {
		words = fmt.Sprintf("%s since %s (%s): %s", c.Status, text.Since(p.now, c.Since), c.Reason, c.Message)
	}
	if head.Outdated {
		words += outdated
	}
	p.Field(name, words)
}

// totals prints what is used and granted of each resource.
func (p *printer) totals(resources []view.Filled) {
	t := &text.Table{Header: []string{"Resource", "Used", "Demand", "Granted", "Budget", "Free", "", ""}, Rule: true}
	for i := range resources {
		r := &resources[i]
		cells := append(text.Plains(string(r.Resource), r.Used, r.Demand, r.Granted, r.Budget), free(r))
		t.Cells(append(cells, fullness(r)...)...)
	}
	p.Print(t)
}

// free returns what can be granted at once, or the debt.
func free(r *view.Filled) text.Cell {
	switch {
	case r.Free == view.Unknown:
		return text.Cell{Text: r.Free, Style: text.Yellow}
	case r.Debt != "":
		return text.Cell{Text: "debt " + r.Debt, Style: text.Red}
	}
	return text.Plains(r.Free)[0]
}

// fullness draws how much is used and granted.
func fullness(r *view.Filled) []text.Cell {
	style := text.Green
	switch {
	case r.UsedPercent >= 100:
		style = text.Red
	case r.UsedPercent >= 80:
		style = text.Yellow
	}
	bar := text.Cell{Text: text.Bar(r.UsedPercent, r.GrantedPercent), Style: style}
	return []text.Cell{bar, {Text: fmt.Sprintf("%d%% used", r.UsedPercent)}}
}

// clusters prints what each cluster holds.
func (p *printer) clusters(clusters []view.Cluster) {
	if len(clusters) == 0 {
		return
	}
	p.Printf("\n")
	t := holders("Cluster")
	for i := range clusters {
		p.cluster(t, &clusters[i])
	}
	p.Print(t)
}

// cluster adds the lines of one cluster.
func (p *printer) cluster(t *text.Table, c *view.Cluster) {
	p.holder(t, c.Name, text.Cell{Text: string(c.State), Style: cli.StateStyle(c.State)}, c.Since, c.Resources, c.Message)
	if waiting := unscheduled(c.Unscheduled); waiting != "" {
		t.Note(text.Dim, waiting)
	}
}

// holders returns the table of those who hold the parts of a budget.
func holders(who string) *text.Table {
	return &text.Table{
		Header: []string{who, "State", "Since", "Resource", "Used", "Demand", "Target", "Granted"}, Rule: true,
	}
}

// holder adds the lines of one who holds a part of a budget.
func (p *printer) holder(
	t *text.Table, name string, state text.Cell, since *metav1.Time, resources []view.Amounts, message string,
) {
	head := []text.Cell{{Text: name}, state, {Text: text.Since(p.now, ptr.Deref(since, metav1.Time{}))}}
	if len(resources) == 0 {
		t.Cells(append(head, text.Plains("", "", "", "", "")...)...)
	}
	for _, r := range resources {
		granted := text.Plains(r.Granted)[0]
		if r.Granted != r.Target {
			granted.Style = text.Yellow
		}
		amounts := text.Plains(string(r.Resource), r.Used, r.Demand, r.Target)
		t.Cells(slices.Concat(head, amounts, []text.Cell{granted})...)
		head = make([]text.Cell, len(head))
	}
	if message != "" {
		t.Note(text.Dim, message)
	}
}

// unscheduled says how much of what is used is without a node.
func unscheduled(list corev1.ResourceList) string {
	if len(list) == 0 {
		return ""
	}
	return "of what is used, without a node: " + text.Counted(list)
}

// conditions prints conditions, each with what it means.
func (p *printer) conditions(conditions []view.Condition) {
	if len(conditions) > 0 {
		p.Printf("\n%s\n", p.Paint(text.Bold, "Conditions:"))
	}
	for _, c := range conditions {
		p.Printf("  %s since %s (%s)\n", p.Paint(text.Yellow, c.Type), text.Since(p.now, c.Since), c.Reason)
		p.Paragraph(4, text.Plain, c.Message)
		if c.Advice != "" {
			p.Paragraph(4, text.Dim, "→ "+c.Advice)
		}
	}
}

// events prints the latest events, or why there are none to print.
func (p *printer) events(head *view.Head) {
	switch {
	case head.EventsHidden != "":
		p.Printf("\nEvents:     not shown: %s\n", head.EventsHidden)
	case len(head.Events) > 0:
		p.Printf("\n%s\n", p.Paint(text.Bold, "Events:"))
	}
	for _, e := range head.Events {
		p.Printf("  %s ago  %s\n", text.Since(p.now, e.Time), e.Reason)
		p.Paragraph(4, text.Plain, e.Message)
	}
}
