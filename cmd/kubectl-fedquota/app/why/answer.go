package why

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// answer finds out why.
type answer struct {
	now     metav1.Time
	subject *subject
	around  *around
}

// view returns what is to be shown.
func (a *answer) view() *view.Answer {
	s := a.subject
	v := &view.Answer{
		Kind: s.object.GetObjectKind().GroupVersionKind().Kind, Namespace: s.object.GetNamespace(), Name: s.object.GetName(),
		Pods: len(s.pods), Missing: s.missing(),
	}
	if job, ok := s.object.(*batchv1.Job); ok && ptr.Deref(job.Spec.Suspend, false) {
		a.suspended(v, job)
		return v
	}
	if pod, ok := s.object.(*corev1.Pod); ok {
		v.Phase, v.Node, v.Infeasible = pod.Status.Phase, pod.Spec.NodeName, resourcehelper.IsPodResizeInfeasible(pod)
	}
	if pods := a.unscheduled(); len(pods) > 0 {
		v.Unscheduled = a.nodes(pods)
	}
	if v.Missing > 0 {
		a.refused(v)
	}
	v.Waits = v.Missing > 0 || v.Unscheduled != nil
	return v
}

// suspended adds what a Job states that is suspended. It waits if that is not understood.
func (a *answer) suspended(v *view.Answer, job *batchv1.Job) {
	v.Suspended = true
	until, problem := demand.Statement(job)
	switch {
	case problem != nil:
		v.Problem, v.Waits = problem.Error(), true
	case !until.IsZero():
		v.WantedUntil = new(metav1.NewTime(until))
		if !v.WantedUntil.Before(&a.now) {
			v.Room = a.room(refuser{})
		}
	}
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
func (a *answer) nodes(pods []corev1.Pod) *view.Unscheduled {
	pod := &pods[0]
	u := &view.Unscheduled{
		Since: pod.CreationTimestamp, Count: len(pods), Pod: pod.Name, Message: "no scheduler has looked at it yet",
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			u.Since, u.Message = c.LastTransitionTime, c.Message
		}
	}
	for i := range a.around.quotas {
		q, sum := &a.around.quotas[i], amount.List{}
		for j := range pods {
			sum = amount.Sum(sum, charge.Of(&pods[j], &q.Spec))
		}
		if len(sum) > 0 {
			u.Charged = append(u.Charged, view.QuotaCharge{Quota: q.Name, Amounts: sum.ToList(q.Spec.Hard)})
		}
	}
	return u
}

// refused adds who refuses pods, and whether one would fit now.
func (a *answer) refused(v *view.Answer) {
	var by refuser
	if len(a.around.refusals) > 0 {
		last := a.around.refusals[0]
		by = refuserOf(last.message)
		v.Refusal = &view.Refusal{
			Since: last.first, Last: last.last, By: a.whose(by), Message: last.message, Advice: by.advice,
		}
		for _, r := range a.around.refusals {
			if refuserOf(r.message) == by && r.first.Before(&v.Refusal.Since) {
				v.Refusal.Since = r.first
			}
		}
	}
	v.Room = a.room(by)
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

// room says for each quota whether a pod would fit now, nil if nobody knows what a pod asks for.
func (a *answer) room(by refuser) *view.Room {
	if a.around.pod == nil {
		return nil
	}
	room := &view.Room{Quotas: []view.QuotaRoom{}}
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
			fits := amount.Add(used[name], cost[name]) <= limit
			lacking[q.Name] = lacking[q.Name] || !fits
			room.Quotas = append(room.Quotas, view.QuotaRoom{
				Quota: q.Name, Resource: name, Asks: amount.Text(name, cost[name], q.Spec.Hard),
				Used: view.AmountOf(q.Status.Used, name), Hard: view.AmountOf(q.Status.Hard, name), Fits: fits,
			})
		}
	}
	room.Help = a.help(lacking, by)
	return room
}

// help says what helps.
func (a *answer) help(lacking map[string]bool, by refuser) []view.Help {
	var help []view.Help
	none := true
	for i := range a.around.quotas {
		q := &a.around.quotas[i]
		if !lacking[q.Name] {
			continue
		}
		none = false
		one := view.Help{Advice: fmt.Sprintf("ResourceQuota %s is not managed by fedquota: raise it, or delete it.", q.Name)}
		if share := a.share(q.Name); share != nil && nativequota.IsManaged(q) {
			one = a.elsewhere(share)
		}
		one.Quota = q.Name
		help = append(help, one)
	}
	if none && by.quota != "" && by.advice == "" {
		help = append(help, view.Help{Advice: "There is room by now. A controller that was refused tries again in its own time, up to minutes later; " +
			"where demand moves limits the agent wakes it."})
	}
	return help
}

// elsewhere says whether the pod fits into what all clusters have left.
func (a *answer) elsewhere(share *quotav1alpha1.QuotaShare) view.Help {
	fleet := &share.Spec.Fleet
	if len(fleet.Budget) == 0 {
		return view.Help{Advice: fmt.Sprintf("The budget is split by weight: no demand moves this limit. Scale down here, run it in another cluster, or ask "+
			"those who own FederatedQuota %s/%s on the hub for more weight.", share.Namespace, share.Name)}
	}
	cost := charge.Of(a.around.pod, charge.SpecOf(share))
	used, budget := amount.Saturate(fleet.Used, amount.Up), amount.Saturate(fleet.Budget, amount.Down)
	lacking := charge.Lacking(cost, used, budget, fleet.Budget)
	if lacking == "" {
		return view.Help{Advice: "All clusters together have room for it, as the hub told last. The hub raises this limit as soon as other clusters have " +
			"given up what they do not use, and the budget's QuotaPool, if it has one, gives as much. If that lasts, ask on the hub: " +
			"kubectl fedquota why fq/" + share.Name}
	}
	known := []string{"All clusters together have no room for it either, as the hub told last: " + lacking + "."}
	if len(fleet.Waiting) > 0 {
		known = append(known, "Clusters that ask for more than they have: "+view.Listed(fleet.Waiting)+".")
	}
	return view.Help{Known: known, Advice: fmt.Sprintf("Something has to end, in any cluster, or those who own FederatedQuota %s/%s on the hub have to "+
		"raise the budget.", share.Namespace, share.Name)}
}
