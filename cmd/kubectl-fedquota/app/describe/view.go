package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// view prints objects.
type view struct {
	*text.Page

	now      time.Time
	cluster  string
	resource corev1.ResourceName
}

// check says whether there is what the flags ask for.
func (v *view) check(fq *quotav1alpha1.FederatedQuota) error {
	if v.cluster != "" && !slices.ContainsFunc(fq.Status.Clusters, v.shows) {
		return fmt.Errorf("--cluster %s: FederatedQuota %s has no such cluster, it has %s", v.cluster, fq.Name, cli.ClustersOf(fq))
	}
	return nil
}

func (v *view) shows(c quotav1alpha1.ClusterStatus) bool {
	return v.cluster == "" || string(c.Name) == v.cluster
}

// names returns those of the lists that are to be shown.
func (v *view) names(lists ...corev1.ResourceList) []corev1.ResourceName {
	return slices.DeleteFunc(text.Names(lists...), func(name corev1.ResourceName) bool { return v.resource != "" && name != v.resource })
}

// budget prints a FederatedQuota.
func (v *view) budget(fq *quotav1alpha1.FederatedQuota) {
	v.Field("Name", fq.Name)
	v.Field("Namespace", fq.Namespace)
	v.Field("Mode", modeOf(&fq.Spec))
	v.scopes(fq.Spec.Scopes, fq.Spec.ScopeSelector)
	if len(fq.Spec.Reserve) > 0 {
		v.Field("Reserve", text.Join(fq.Spec.Reserve)+" of hard are never handed out")
	}
	v.Field("Placement", placementOf(&fq.Spec.Placement))
	v.Field("Clusters", clustersOf(fq))
	v.ready(fq)
	v.Printf("\n")
	v.totals(fq)
	v.clusters(fq)
	v.conditions(fq.Status.Conditions, quotav1alpha1.ConditionReady, fq.Name)
}

func modeOf(spec *quotav1alpha1.FederatedQuotaSpec) string {
	if spec.Rebalance.Mode == quotav1alpha1.RebalanceStatic {
		return "Static: split by weight, min and max"
	}
	if spec.Admission.Mode == quotav1alpha1.AdmissionOff {
		return "Auto: limits follow demand; no request waits"
	}
	wait := int32(500)
	if spec.Admission.WaitMilliseconds != nil {
		wait = *spec.Admission.WaitMilliseconds
	}
	return fmt.Sprintf("Auto: limits follow demand; a request that does not fit waits up to %d ms for a raise", wait)
}

// scopes prints what is counted, if that is not everything.
func (v *view) scopes(scopes []corev1.ResourceQuotaScope, selector *corev1.ScopeSelector) {
	var parts []string
	for _, scope := range scopes {
		parts = append(parts, string(scope))
	}
	if selector != nil {
		for _, r := range selector.MatchExpressions {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.ScopeName, r.Operator, strings.Join(r.Values, ","))))
		}
	}
	if len(parts) > 0 {
		v.Field("Scopes", strings.Join(parts, "; "))
	}
}

func placementOf(p *quotav1alpha1.Placement) string {
	var parts []string
	if p.ClusterSelector != nil {
		selector := metav1.FormatLabelSelector(p.ClusterSelector)
		if selector == "<none>" {
			selector = "all"
		}
		parts = append(parts, "Clusters "+selector)
	}
	if len(p.Clusters) > 0 {
		names := make([]string, len(p.Clusters))
		for i, name := range p.Clusters {
			names[i] = string(name)
		}
		parts = append(parts, "Clusters named "+strings.Join(names, ", "))
	}
	return strings.Join(parts, ", and ")
}

func clustersOf(fq *quotav1alpha1.FederatedQuota) string {
	settled, selected, _ := strings.Cut(fq.Status.Settled, "/")
	if selected == "" {
		return "none known yet"
	}
	return fmt.Sprintf("%s selected, %s enforce their target", selected, settled)
}

// ready prints the summary. Without one no hub manager has seen the object.
func (v *view) ready(fq *quotav1alpha1.FederatedQuota) {
	ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil {
		v.Field("Ready", "Unknown: no hub manager has acted on this object. See whether one runs: "+
			"kubectl get pods -n fedquota-system")
		return
	}
	if ready.ObservedGeneration != fq.Generation {
		v.Field("Ready", v.condition(ready)+" (of an earlier spec: the hub manager has not seen the present one)")
		return
	}
	v.Field("Ready", v.condition(ready))
}

func (v *view) condition(c *metav1.Condition) string {
	return fmt.Sprintf("%s since %s (%s): %s", c.Status, text.Since(v.now, c.LastTransitionTime), c.Reason, c.Message)
}

// totals prints what is used and granted of each resource.
func (v *view) totals(fq *quotav1alpha1.FederatedQuota) {
	s := &fq.Status
	budget := s.Hard
	if len(budget) == 0 {
		budget = fq.Spec.Hard
	}
	t := &text.Table{Header: []string{"Resource", "Used", "Demand", "Granted", "Budget", "Free", "", ""}, Rule: true}
	for _, name := range v.names(budget) {
		used, granted := text.Percent(s.Used, budget, name), text.Percent(s.Granted, budget, name)
		t.Cells(
			text.Cell{Text: string(name)}, text.Cell{Text: text.Amount(s.Used, name)}, text.Cell{Text: text.Some(s.Demand, name)},
			text.Cell{Text: text.Amount(s.Granted, name)}, text.Cell{Text: text.Amount(budget, name)}, free(s, budget, name),
			text.Cell{Text: text.Bar(used, granted), Style: fullness(used)}, text.Cell{Text: fmt.Sprintf("%d%% used", used)},
		)
	}
	v.Print(t)
}

// free returns what can be granted at once, or the debt.
func free(s *quotav1alpha1.FederatedQuotaStatus, budget corev1.ResourceList, name corev1.ResourceName) text.Cell {
	debt := s.Granted[name].DeepCopy() // a copy of a large Quantity shares its digits
	debt.Sub(budget[name])
	switch {
	case text.Amount(s.Granted, name) == "unknown":
		return text.Cell{Text: "unknown", Style: text.Yellow}
	case debt.Sign() > 0:
		return text.Cell{Text: "debt " + debt.String(), Style: text.Red}
	}
	return text.Cell{Text: text.Amount(s.Free, name)}
}

func fullness(percent int) text.Style {
	switch {
	case percent >= 100:
		return text.Red
	case percent >= 80:
		return text.Yellow
	}
	return text.Green
}

// clusters prints what each cluster holds.
func (v *view) clusters(fq *quotav1alpha1.FederatedQuota) {
	if len(fq.Status.Clusters) == 0 {
		return
	}
	v.Printf("\n")
	t := &text.Table{Header: []string{"Cluster", "State", "Since", "Resource", "Used", "Demand", "Target", "Granted"}, Rule: true}
	for i := range fq.Status.Clusters {
		if c := &fq.Status.Clusters[i]; v.shows(*c) {
			v.cluster1(t, c)
		}
	}
	v.Print(t)
}

// cluster1 adds the lines of one cluster.
func (v *view) cluster1(t *text.Table, c *quotav1alpha1.ClusterStatus) {
	target := c.Target
	if target == nil {
		target = c.Granted
	}
	var since metav1.Time
	if c.Since != nil {
		since = *c.Since
	}
	head := []text.Cell{
		{Text: string(c.Name)}, {Text: string(c.State), Style: cli.StateStyle(c.State)}, {Text: text.Since(v.now, since)},
	}
	names := v.names(c.Granted, target)
	if len(names) == 0 {
		t.Cells(append(head, plain("-", "-", "-", "-", "-")...)...)
	}
	for _, name := range names {
		granted := text.Cell{Text: text.Amount(c.Granted, name)}
		if granted.Text != text.Amount(target, name) {
			granted.Style = text.Yellow
		}
		line := plain(string(name), text.Amount(c.Used, name), text.Some(c.Demand, name), text.Amount(target, name))
		t.Cells(append(append(slices.Clone(head), line...), granted)...)
		head = plain("", "", "")
	}
	if why := cmp.Or(c.Message, c.Reason); why != "" {
		t.Note(text.Dim, why)
	}
	if waiting := v.unscheduled(c.Unscheduled); waiting != "" {
		t.Note(text.Dim, waiting)
	}
}

// unscheduled says how much of what is used is without a node.
func (v *view) unscheduled(list corev1.ResourceList) string {
	var parts []string
	for _, name := range v.names(list) {
		parts = append(parts, text.Amount(list, name)+" "+string(name))
	}
	if len(parts) == 0 {
		return ""
	}
	return "of what is used, without a node: " + strings.Join(parts, ", ")
}

func plain(texts ...string) []text.Cell {
	cells := make([]text.Cell, len(texts))
	for i, s := range texts {
		cells[i].Text = s
	}
	return cells
}

// conditions prints all conditions but the summary, each with what it means.
func (v *view) conditions(conditions []metav1.Condition, summary, name string) {
	printed := 0
	for i := range conditions {
		c := &conditions[i]
		if c.Type == summary || repeats[c.Type] {
			continue
		}
		if printed == 0 {
			v.Printf("\n%s\n", v.Paint(text.Bold, "Conditions:"))
		}
		printed++
		v.Printf("  %s since %s (%s)\n", v.Paint(text.Yellow, c.Type), text.Since(v.now, c.LastTransitionTime), c.Reason)
		v.Paragraph(4, text.Plain, c.Message)
		if advice := cli.Advice(c, name); advice != "" {
			v.Paragraph(4, text.Dim, "→ "+advice)
		}
	}
}

// repeats are the conditions that say for tools what Ready says.
var repeats = map[string]bool{quotav1alpha1.ConditionReconciling: true, quotav1alpha1.ConditionStalled: true}

// events prints the latest events, or why there are none to print.
func (v *view) events(events []corev1.Event, err error) {
	switch {
	case err != nil && cli.MissingRight(err) != "":
		v.Printf("\nEvents:     not shown: you lack the right to %s\n", cli.MissingRight(err))
		return
	case err != nil:
		v.Printf("\nEvents:     not shown: %v\n", err)
		return
	case len(events) == 0:
		return
	}
	v.Printf("\n%s\n", v.Paint(text.Bold, "Events:"))
	for i := range events {
		e := &events[i]
		v.Printf("  %s ago  %s\n", text.Since(v.now, cli.LastSeen(e)), e.Reason)
		v.Paragraph(4, text.Plain, e.Message)
	}
}
