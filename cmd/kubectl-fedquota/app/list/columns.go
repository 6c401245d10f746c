package list

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// column is one of the table.
type column struct {
	hidden bool
	name   string
	cell   func(*row) text.Cell
}

// columns are all there are, for budgets or for the shares of a member.
func (o *Options) columns(member bool) []column {
	brief, ready := *o.print.OutputFormat != "wide", "READY"
	if member {
		ready = "ENFORCED"
	}
	plain := func(of func(*row) string) func(*row) text.Cell {
		return func(r *row) text.Cell { return text.Plains(of(r))[0] }
	}
	return []column{
		{!o.scope.All, "NAMESPACE", plain(func(r *row) string { return r.Namespace })},
		{false, "NAME", plain(func(r *row) string { return r.Name })},
		{false, ready, readyOf},
		{brief, "REASON", plain(reasonOf)},
		{member, "SETTLED", plain(func(r *row) string { return r.Settled })},
		{false, "FULL", percentOf},
		{false, "TIGHTEST", plain(tightestOf)},
		{false, "WAITING", plain(waitingOf)},
		{brief || member, "MODE", plain(func(r *row) string { return r.Mode })},
		{brief || !member, "REVISION", plain(func(r *row) string { return r.Revision })},
		{brief, "CONDITIONS", plain(conditionsOf)},
		{false, "AGE", plain(func(r *row) string { return text.Since(o.env.Clock.Now(), r.object.GetCreationTimestamp()) })},
	}
}

func readyOf(r *row) text.Cell {
	ready := r.Ready()
	if ready == metav1.ConditionTrue {
		return text.Cell{Text: string(ready), Style: text.Green}
	}
	return text.Cell{Text: string(ready), Style: text.Red}
}

func reasonOf(r *row) string {
	if r.Summary == nil {
		return ""
	}
	return r.Summary.Reason
}

// percentOf is how full the tightest resource is.
func percentOf(r *row) text.Cell {
	switch full := r.Full; {
	case full < 0:
		return text.Cell{Text: "-"}
	case full >= 1:
		return text.Cell{Text: fmt.Sprintf("%.0f%%", min(full*100, 999)), Style: text.Red}
	case full >= 0.8:
		return text.Cell{Text: fmt.Sprintf("%.0f%%", full*100), Style: text.Yellow}
	default:
		return text.Cell{Text: fmt.Sprintf("%.0f%%", full*100)}
	}
}

func tightestOf(r *row) string {
	if r.Tightest == nil {
		return ""
	}
	return fmt.Sprintf("%s %s/%s", r.Tightest.Resource, cmp.Or(r.Tightest.Used, "0"), r.Tightest.Budget)
}

// waitingOf is what is asked for beyond what is used.
func waitingOf(r *row) string {
	var parts []string
	for _, f := range r.Resources {
		if f.Demand != "" {
			parts = append(parts, fmt.Sprintf("%s=%s", f.Resource, f.Demand))
		}
	}
	return strings.Join(parts, ", ")
}

// conditionsOf names the conditions beside the summary.
func conditionsOf(r *row) string {
	var names []string
	for _, c := range r.Conditions {
		names = append(names, c.Type)
	}
	return strings.Join(names, ",")
}
