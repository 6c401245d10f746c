package why

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// answer says why.
type answer struct {
	*text.Page

	now     time.Time
	subject *subject
	around  *around
}

// print prints why, and says whether something is refused or waits.
func (a *answer) print() bool {
	s := a.subject
	a.Printf("%s\n", a.Paint(text.Bold, s.what()))
	if job, ok := s.object.(*batchv1.Job); ok && ptr.Deref(job.Spec.Suspend, false) {
		return a.suspended(job)
	}
	unscheduled := a.unscheduled()
	missing := s.missing()
	switch {
	case missing == 0 && len(unscheduled) == 0:
		a.fine()
		return false
	case missing == 0:
		a.nodes(unscheduled)
		return true
	}
	if len(s.pods)+missing > 1 {
		a.Printf("  %d of %d pods are missing.\n", missing, len(s.pods)+missing)
	}
	a.refused()
	if len(unscheduled) > 0 {
		a.nodes(unscheduled)
	}
	return true
}

// suspended says what a Job wants that is suspended, and whether that is not understood.
func (a *answer) suspended(job *batchv1.Job) bool {
	until, problem := demand.StatedUntil(job)
	switch {
	case problem != nil:
		a.Printf("  It is suspended. What it states does not count as demand:\n")
		a.Paragraph(4, text.Red, problem.Error())
		return true
	case until.IsZero():
		a.Printf("  It is suspended: it makes no pods, and does not state that it wants room for them.\n")
	case until.Before(a.now):
		a.Printf("  It is suspended. It stated that it wants room for %d pods until %s ago: create it again if it still does.\n",
			a.subject.missing(), text.Since(a.now, metav1.NewTime(until)))
	default:
		a.Printf("  It is suspended, and states that it wants room for %d pods, for another %s.\n",
			a.subject.missing(), text.Since(until, metav1.NewTime(a.now)))
		a.fits(refuser{})
	}
	return false
}

// fine says that nothing waits.
func (a *answer) fine() {
	if pod, ok := a.subject.object.(*corev1.Pod); ok {
		a.Printf("  It was admitted, and is %s on node %s.\n", strings.ToLower(string(pod.Status.Phase)), pod.Spec.NodeName)
		a.resize(pod)
		return
	}
	a.Printf("  Nothing waits: all %d pods that it wants are there.\n", len(a.subject.pods))
}

// resize says what becomes of a resize that the node of a pod can never do.
func (a *answer) resize(pod *corev1.Pod) {
	if !resourcehelper.IsPodResizeInfeasible(pod) {
		return
	}
	a.Printf("  %s: its node can never give it what it shall have.\n", a.Paint(text.Yellow, "Infeasible"))
	a.Paragraph(4, text.Plain, "→ Quotas charge what it shall have until the quota controller counts all again, every 5 minutes by default. "+
		"Set its resources back, or make it anew where a node has room.")
}

// unscheduled are the pods that wait for a node.
func (a *answer) unscheduled() []corev1.Pod {
	var waiting []corev1.Pod
	for _, pod := range a.subject.pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
			waiting = append(waiting, pod)
		}
	}
	return waiting
}

// nodes says why pods that were admitted wait for a node.
func (a *answer) nodes(pods []corev1.Pod) {
	pod := &pods[0]
	since, why := pod.CreationTimestamp, "no scheduler has looked at it yet"
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			since, why = c.LastTransitionTime, c.Message
		}
	}
	a.Printf("  %s for %s: %d of its pods were admitted and wait for a node.\n", a.Paint(text.Yellow, "No node"), text.Since(a.now, since), len(pods))
	a.Paragraph(4, text.Plain, pod.Name+": "+why)
	a.charged(pods)
	a.Paragraph(4, text.Dim, "→ No quota is in the way. Add nodes, ask for less, or run it in another cluster.")
}

// charged says what quotas charge pods that wait for a node.
func (a *answer) charged(pods []corev1.Pod) {
	for i := range a.around.quotas {
		q, sum := &a.around.quotas[i], amount.List{}
		for j := range pods {
			sum = amount.Sum(sum, charge.Of(&pods[j], &q.Spec))
		}
		var parts []string
		for _, name := range sum.Names() {
			amounts := amount.ToQuantity(name, sum[name], q.Spec.Hard[name].Format)
			parts = append(parts, amounts.String()+" "+string(name))
		}
		if len(parts) > 0 {
			a.Paragraph(4, text.Plain, fmt.Sprintf("%s charges them: %s.", q.Name, strings.Join(parts, ", ")))
		}
	}
}

// refused says who refuses pods, and whether one would fit now.
func (a *answer) refused() {
	var by refuser
	if len(a.around.refusals) > 0 {
		last := a.around.refusals[0]
		by = refuserOf(last.message)
		a.said(&last, by)
	} else {
		a.Printf("  Nothing was refused that anybody remembers: events are kept for an hour.\n")
	}
	a.fits(by)
}

// said prints what was answered.
func (a *answer) said(last *refusal, by refuser) {
	since := last.first
	for _, r := range a.around.refusals {
		if refuserOf(r.message) == by && r.first.Before(&since) {
			since = r.first
		}
	}
	a.Printf("  %s since %s, last %s ago: %s\n", a.Paint(text.Red, "Refused"), text.Since(a.now, since), text.Since(a.now, last.last), a.whose(by))
	a.Paragraph(4, text.Dim, last.message)
	if by.advice != "" {
		a.Paragraph(4, text.Plain, "→ "+by.advice)
	}
}

// whose says who refused.
func (a *answer) whose(by refuser) string {
	share := a.share(by.quota)
	switch {
	case by.quota == "" || by.advice != "":
		return by.who + "."
	case share != nil:
		return fmt.Sprintf("the share of FederatedQuota %s/%s in this cluster is used up.", share.Namespace, share.Name)
	}
	return fmt.Sprintf("ResourceQuota %s, which fedquota does not manage.", by.quota)
}

func (a *answer) share(name string) *quotav1alpha1.QuotaShare {
	for i := range a.around.shares {
		if a.around.shares[i].Name == name {
			return &a.around.shares[i]
		}
	}
	return nil
}

// fits says for each quota whether a pod would fit now.
func (a *answer) fits(by refuser) {
	if a.around.pod == nil {
		return
	}
	a.Printf("\n  Would one more pod fit now?\n")
	t := &text.Table{Header: []string{"QUOTA", "RESOURCE", "ASKS", "USED", "HARD", "FITS"}, Indent: 4}
	lacking := map[string]bool{}
	for i := range a.around.quotas {
		q := &a.around.quotas[i]
		cost := charge.Of(a.around.pod, &q.Spec)
		used, hard := amount.Saturate(q.Status.Used, amount.Up), amount.Saturate(q.Status.Hard, amount.Down)
		for _, name := range cost.Names() {
			limit, limited := hard[name]
			if !limited {
				continue
			}
			answer := text.Cell{Text: "yes", Style: text.Green}
			if amount.Add(used[name], cost[name]) > limit {
				answer, lacking[q.Name] = text.Cell{Text: "no", Style: text.Red}, true
			}
			asks := amount.ToQuantity(name, cost[name], q.Spec.Hard[name].Format)
			t.Cells(text.Cell{Text: q.Name}, text.Cell{Text: string(name)}, text.Cell{Text: asks.String()}, text.Cell{Text: text.Amount(q.Status.Used, name)},
				text.Cell{Text: text.Amount(q.Status.Hard, name)}, answer)
		}
	}
	a.Print(t)
	a.whatToDo(lacking, by)
}

// whatToDo says what helps.
func (a *answer) whatToDo(lacking map[string]bool, by refuser) {
	for i := range a.around.quotas {
		q := &a.around.quotas[i]
		share := a.share(q.Name)
		switch {
		case !lacking[q.Name]:
		case share != nil && nativequota.IsManaged(q):
			a.elsewhere(share)
		default:
			a.Paragraph(4, text.Plain, fmt.Sprintf("→ ResourceQuota %s is not managed by fedquota: raise it, or delete it.", q.Name))
		}
	}
	if len(lacking) == 0 && by.quota != "" && by.advice == "" {
		a.Paragraph(4, text.Plain, "→ There is room by now. A controller that was refused tries again in its own time, up to minutes later; "+
			"where demand moves limits the agent wakes it.")
	}
}

// elsewhere says whether the pod fits into what all clusters have left.
func (a *answer) elsewhere(share *quotav1alpha1.QuotaShare) {
	fleet := &share.Spec.Fleet
	if len(fleet.Budget) == 0 {
		a.Paragraph(4, text.Plain, fmt.Sprintf("→ The budget is split by weight: no demand moves this limit. Scale down here, run it in another cluster, or ask "+
			"those who own FederatedQuota %s/%s on the hub for more weight.", share.Namespace, share.Name))
		return
	}
	spec := &corev1.ResourceQuotaSpec{Hard: share.Spec.Hard, Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}
	cost := charge.Of(a.around.pod, spec)
	lacking := charge.Lacking(cost, amount.Saturate(fleet.Used, amount.Up), amount.Saturate(fleet.Budget, amount.Down), fleet.Budget)
	if lacking == "" {
		a.Paragraph(4, text.Plain, "→ All clusters together have room for it, as the hub told last. The hub raises this limit as soon as other clusters have "+
			"given up what they do not use. If that lasts, ask on the hub: kubectl fedquota explain "+share.Name)
		return
	}
	a.Paragraph(4, text.Plain, "All clusters together have no room for it either, as the hub told last: "+lacking+".")
	if waiting := waitingOf(fleet); waiting != "" {
		a.Paragraph(4, text.Plain, "Clusters that ask for more than they have: "+waiting+".")
	}
	a.Paragraph(4, text.Plain, fmt.Sprintf("→ Something has to end, in any cluster, or those who own FederatedQuota %s/%s on the hub have to raise the budget.",
		share.Namespace, share.Name))
}

func waitingOf(fleet *quotav1alpha1.Fleet) string {
	names := make([]string, len(fleet.Waiting))
	for i, name := range fleet.Waiting {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}
