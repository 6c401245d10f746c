package describe

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// share prints a QuotaShare.
func (v *view) share(share *quotav1alpha1.QuotaShare) {
	v.Field("Name", share.Name)
	v.Field("Namespace", share.Namespace)
	v.Field("Part of", fmt.Sprintf("FederatedQuota %s/%s on the hub", share.Namespace, share.Name))
	v.scopes(share.Spec.Scopes, share.Spec.ScopeSelector)
	v.Field("Revision", revisionOf(share))
	v.enforced(share)
	v.Printf("\n")
	v.limits(share)
	v.fleet(&share.Spec.Fleet)
	v.conditions(share.Status.Conditions, quotav1alpha1.ConditionEnforced, share.Name)
}

func revisionOf(share *quotav1alpha1.QuotaShare) string {
	switch share.Status.Revision {
	case share.Spec.Revision:
		return fmt.Sprintf("%d, in force", share.Spec.Revision)
	case 0:
		return fmt.Sprintf("%d, none is in force yet", share.Spec.Revision)
	}
	return fmt.Sprintf("%d, and %d is in force", share.Spec.Revision, share.Status.Revision)
}

func (v *view) enforced(share *quotav1alpha1.QuotaShare) {
	enforced := apimeta.FindStatusCondition(share.Status.Conditions, quotav1alpha1.ConditionEnforced)
	switch {
	case enforced == nil:
		v.Field("Enforced", "Unknown: no agent has acted on this share. See whether one runs: kubectl get pods -n fedquota-system")
	case share.Status.ObservedGeneration != share.Generation:
		v.Field("Enforced", v.condition(enforced)+" (the agent has not acted on the present share)")
	default:
		v.Field("Enforced", v.condition(enforced))
	}
}

// limits prints what is used, in force and told.
func (v *view) limits(share *quotav1alpha1.QuotaShare) {
	s := &share.Status
	t := &text.Table{Header: []string{"Resource", "Used", "Hard", "Target", "Demand", "", ""}, Rule: true}
	for _, name := range v.names(s.Hard, share.Spec.Hard) {
		used := text.Percent(s.Used, s.Hard, name)
		t.Cells(append(plain(string(name), text.Amount(s.Used, name), text.Amount(s.Hard, name), text.Amount(share.Spec.Hard, name),
			text.Some(s.Demand, name)), text.Cell{Text: text.Bar(used, used), Style: fullness(used)}, text.Cell{Text: fmt.Sprintf("%d%% used", used)})...)
	}
	v.Print(t)
	if waiting := v.unscheduled(s.Unscheduled); waiting != "" {
		v.Printf("\n")
		v.Paragraph(0, text.Plain, waiting)
	}
}

// fleet prints what the hub has told of the whole budget.
func (v *view) fleet(fleet *quotav1alpha1.Fleet) {
	names := v.names(fleet.Budget)
	if len(names) == 0 {
		return
	}
	v.Printf("\nAll clusters together, as the hub told last:\n")
	t := &text.Table{Header: []string{"Resource", "Used", "Budget", "", ""}, Rule: true}
	for _, name := range names {
		used := text.Percent(fleet.Used, fleet.Budget, name)
		t.Cells(append(plain(string(name), text.Amount(fleet.Used, name), text.Amount(fleet.Budget, name)),
			text.Cell{Text: text.Bar(used, used), Style: fullness(used)}, text.Cell{Text: fmt.Sprintf("%d%% used", used)})...)
	}
	v.Print(t)
	if len(fleet.Waiting) > 0 {
		waiting := make([]string, len(fleet.Waiting))
		for i, name := range fleet.Waiting {
			waiting[i] = string(name)
		}
		v.Field("Waiting", strings.Join(waiting, ", "))
	}
}
