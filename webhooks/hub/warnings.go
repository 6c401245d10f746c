package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/shares"
)

// stated are the names of which native quota demands that each pod states an amount.
var stated = sets.New(
	corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
	corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
)

// nearPercent is how much of the budget may be guaranteed before somebody is told.
const nearPercent = 90

// warnings says what a user may not expect of a spec that is acted upon. Before is the one that it replaces, nil at
// creation: what was so before is not told again.
func (v *Validator) warnings(
	ctx context.Context, before, fq *quotav1alpha1.FederatedQuota, around *surroundings,
) admission.Warnings {
	view := input.ViewOf(fq, around.clusters)
	var told sets.Set[string]
	if before != nil {
		old := input.ViewOf(before, around.clusters)
		told = sets.New(slices.Concat(unknown(old), inherent(before, old), guaranteed(before, old), old.Overruled)...)
	}
	return slices.DeleteFunc(slices.Concat(
		v.placement(fq, view), unknown(view), unstated(before, fq), v.unserved(ctx, before, fq, view),
		inherent(fq, view), belowUsage(before, fq, view), guaranteed(fq, view), view.Overruled, answering(fq, around),
		v.inPool(ctx, before, fq), scalesOut(fq.Spec.Capacity, ruleOf(before), v.ScalesOut),
	), told.Has)
}

// scalesOut warns of a budget that comes to ask for nodes where no hub manager adds any.
func scalesOut(rule, before *quotav1alpha1.Capacity, does bool) admission.Warnings {
	asked := before != nil && before.ScaleOut != nil
	if does || asked || rule == nil || rule.ScaleOut == nil {
		return nil
	}
	return admission.Warnings{"spec.capacity.scaleOut: no node is added, since the hub manager runs without --scale-out"}
}

// ruleOf returns how a FederatedQuota follows the nodes, nil if there is none.
func ruleOf(fq *quotav1alpha1.FederatedQuota) *quotav1alpha1.Capacity {
	if fq == nil {
		return nil
	}
	return fq.Spec.Capacity
}

// placement warns of a budget that nobody shares.
func (v *Validator) placement(fq *quotav1alpha1.FederatedQuota, view *input.View) admission.Warnings {
	if len(view.Selected) > 0 || len(fq.Spec.Placement.Clusters) > 0 {
		return nil
	}
	return admission.Warnings{
		"spec.placement: selects no Cluster in " + v.Clusters.String() + " now: nothing is limited anywhere"}
}

// unknown warns of names of Clusters that do not exist.
func unknown(view *input.View) admission.Warnings {
	var warnings admission.Warnings
	for _, stranger := range view.Strangers {
		warnings = append(warnings, stranger+": there is no such Cluster now")
	}
	return warnings
}

// unstated warns of the names that come into the budget and of which pods have to state an amount. Whether a LimitRange
// gives it to them is known in the members alone.
func unstated(before, fq *quotav1alpha1.FederatedQuota) admission.Warnings {
	var names []string
	for name := range fq.Spec.Hard {
		if _, had := hardOf(before)[name]; stated.Has(name) && !had {
			names = append(names, string(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return admission.Warnings{fmt.Sprintf("spec.hard: namespace %s refuses pods that do not state %s in each container, "+
		"unless a LimitRange there has defaults", fq.Namespace, strings.Join(names, ", "))}
}

// inherent warns of a budget that is too small for what each namespace has by itself: it is in debt for good.
func inherent(fq *quotav1alpha1.FederatedQuota, view *input.View) admission.Warnings {
	var warnings admission.Warnings
	clusters := int64(len(view.Selected))
	for _, name := range view.Budget.Names() {
		object := nativequota.Inherent(name)
		if object == "" || view.Budget[name] >= clusters {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.hard[%s]: each of the %d clusters needs one, since the namespace "+
			"has one there by itself (%s): with a budget of %s there is Debt for good",
			name, clusters, object, amount.Text(name, view.Budget[name], fq.Spec.Hard)))
	}
	return warnings
}

// belowUsage warns of limits that come below what is used, and where that is.
func belowUsage(before, fq *quotav1alpha1.FederatedQuota, view *input.View) admission.Warnings {
	var warnings admission.Warnings
	used := amount.Saturate(fq.Status.Used, amount.Up)
	for _, name := range used.Names() {
		budget, limited := view.Budget[name]
		if !limited || used[name] <= budget || unchanged(before, fq, name) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.hard[%s]: a budget of %s is below the %s in use (%s): "+
			"nothing is stopped, and no more is admitted until usage has fallen",
			name, amount.Text(name, budget, fq.Spec.Hard), amount.Text(name, used[name], fq.Spec.Hard), usedWhere(fq, name)))
	}
	return warnings
}

// unchanged says whether an update leaves the budget of a name as it was.
func unchanged(before, fq *quotav1alpha1.FederatedQuota, name corev1.ResourceName) bool {
	return before != nil && equality.Semantic.DeepEqual(before.Spec.Hard[name], fq.Spec.Hard[name]) &&
		equality.Semantic.DeepEqual(before.Spec.Reserve[name], fq.Spec.Reserve[name])
}

// usedWhere says how much of a name is used in which clusters.
func usedWhere(fq *quotav1alpha1.FederatedQuota, name corev1.ResourceName) string {
	var parts []string
	for i := range fq.Status.Clusters {
		if q := fq.Status.Clusters[i].Used[name]; q.Sign() > 0 {
			parts = append(parts, string(fq.Status.Clusters[i].Name)+" "+q.String())
		}
	}
	return shares.Abbreviated(parts)
}

// guaranteed warns of guarantees that leave little to move.
func guaranteed(fq *quotav1alpha1.FederatedQuota, view *input.View) admission.Warnings {
	var warnings admission.Warnings
	if len(view.Selected) < 2 {
		return nil
	}
	for _, name := range view.Guaranteed.Names() {
		kept, budget := view.Guaranteed[name], view.Budget[name]
		if kept == 0 || float64(kept) < float64(budget)*nearPercent/100 {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.distribution.rules: the min of %d clusters keep %s of a budget "+
			"of %s %s: no more than the rest goes where it is needed", len(view.Selected),
			amount.Text(name, kept, fq.Spec.Hard), amount.Text(name, budget, fq.Spec.Hard), name))
	}
	return warnings
}

// answering warns of clusters that are said to be destroyed and have an entry that tells of a cluster that answers.
func answering(fq *quotav1alpha1.FederatedQuota, around *surroundings) admission.Warnings {
	var warnings admission.Warnings
	for i, name := range fq.Spec.Removal.Destroyed {
		if state := stateOf(name, append(around.siblings, *fq)); state != "" {
			warnings = append(warnings, fmt.Sprintf("spec.removal.destroyed[%d]: %s answers, it is %s: "+
				"while it runs, the fleet may use more than the budget", i, name, state))
		}
	}
	return warnings
}

// stateOf returns the state of a cluster that some ledger knows to answer; nothing if none does.
func stateOf(name quotav1alpha1.ClusterName, quotas []quotav1alpha1.FederatedQuota) quotav1alpha1.ClusterState {
	silent := sets.New("", quotav1alpha1.ClusterUnreachable, quotav1alpha1.ClusterUnread)
	for i := range quotas {
		for _, c := range quotas[i].Status.Clusters {
			if c.Name == name && !silent.Has(c.State) {
				return c.State
			}
		}
	}
	return ""
}

// leftovers warns of what stays in the members of a FederatedQuota that is deleted.
func leftovers(fq *quotav1alpha1.FederatedQuota) admission.Warnings {
	var clusters []string
	for i := range fq.Status.Clusters {
		if fq.Status.Clusters[i].Revision > 0 {
			clusters = append(clusters, string(fq.Status.Clusters[i].Name))
		}
	}
	if len(clusters) == 0 {
		return nil
	}
	where := fmt.Sprintf("namespace %s of clusters %s", fq.Namespace, shares.Abbreviated(clusters))
	if fq.Spec.Removal.Policy == quotav1alpha1.RemovalDelete {
		return admission.Warnings{"spec.removal.policy is Delete: " + where + " has no limit of this budget any more"}
	}
	return admission.Warnings{
		fmt.Sprintf("spec.removal.policy is Retain: in %s, ResourceQuota %s stays with a limit of what is used: "+
			"nothing more can be created there", where, fq.Name),
		fmt.Sprintf("to lift that limit, in each cluster: kubectl delete resourcequota -n %s %s", fq.Namespace, fq.Name),
	}
}

func hardOf(fq *quotav1alpha1.FederatedQuota) corev1.ResourceList {
	if fq == nil {
		return nil
	}
	return fq.Spec.Hard
}
