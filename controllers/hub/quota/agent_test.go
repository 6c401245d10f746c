package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// agent does by hand what the agent of a member does: it enforces the share, reports, and lets go of a deleted share.
type agent struct {
	*world

	name string
	// down says that the agent does not act.
	down bool
	// used is what is in use, 0 of what it does not name.
	used corev1.ResourceList
	// demand is what could be used beyond that, asked how often it was asked whether the hub is there.
	demand corev1.ResourceList
	asked  int64
	// kinds splits demand.
	kinds []quotav1alpha1.DemandShape
	// wants, if set, is how many pods could be used: as many of them are as the limit allows, and the rest is demand.
	wants int64
	// barred, if set, is why the agent cannot write the ResourceQuota.
	barred string
	// uncounted, if set, is a name that nothing is counted under.
	uncounted corev1.ResourceName
	// hard is what is in force, revision its revision.
	hard     corev1.ResourceList
	revision int64
	// capped is what something in the member makes of a limit that is above it.
	capped corev1.ResourceList
	// conditions are reported beside Enforced.
	conditions []metav1.Condition
	// unscheduled is what pods use that wait for a node.
	unscheduled corev1.ResourceList
	// removal is what the deleted share asked for.
	removal string
}

// uses says what is in use from now on.
func (a *agent) uses(list corev1.ResourceList) { a.used = list }

// asks says what could be used beyond what is in use from now on.
func (a *agent) asks(list corev1.ResourceList) { a.demand, a.kinds = list, nil }

// asksAtOnce is the same for one object that needs all of it.
func (a *agent) asksAtOnce(list corev1.ResourceList) {
	a.demand, a.kinds = list, []quotav1alpha1.DemandShape{{Amounts: list, Unit: list}}
}

// act does what is to be done, and says whether that was anything.
func (a *agent) act() bool {
	a.t.Helper()
	if a.down {
		return false
	}
	share := a.share(a.name)
	if share == nil {
		return false
	}
	if !share.DeletionTimestamp.IsZero() {
		return a.release(share)
	}
	if share.Spec.Revision >= a.revision && a.barred == "" {
		a.enforce(share)
	}
	if a.wants > 0 {
		a.use()
	}
	return a.report(share)
}

// use fills the limit as far as there is demand.
func (a *agent) use() {
	limit := a.hard["pods"]
	used := min(a.wants, limit.Value())
	a.used, a.demand = corev1.ResourceList{"pods": *resource.NewQuantity(used, resource.DecimalSI)}, nil
	if used < a.wants {
		a.demand = corev1.ResourceList{"pods": *resource.NewQuantity(a.wants-used, resource.DecimalSI)}
	}
}

// enforce brings the share's limit into force, or what is used where that is more. Within a revision it only lowers.
func (a *agent) enforce(share *quotav1alpha1.QuotaShare) {
	hard := corev1.ResourceList{}
	for name, limit := range share.Spec.Hard {
		if used := a.used[name]; used.Cmp(limit) > 0 {
			limit = used
		}
		if current, limited := a.hard[name]; limited && a.revision == share.Spec.Revision && current.Cmp(limit) < 0 {
			limit = current
		}
		if most, ok := a.capped[name]; ok && most.Cmp(limit) < 0 {
			limit = most
		}
		hard[name] = limit
	}
	a.hard, a.revision = hard, share.Spec.Revision
}

func (a *agent) report(share *quotav1alpha1.QuotaShare) bool {
	a.t.Helper()
	stored := a.share(a.name)
	status := &share.Status
	status.ObservedGeneration, status.Revision, status.Hard, status.Used = share.Generation, a.revision, a.hard, corev1.ResourceList{}
	status.Demand, status.DemandByShape, status.Ping = a.demand, a.kinds, a.asked
	status.Unscheduled = a.unscheduled
	for name := range a.hard {
		if name == a.uncounted {
			continue
		}
		status.Used[name] = resource.MustParse("0")
		if used, ok := a.used[name]; ok {
			status.Used[name] = used
		}
	}
	wanted := slices.Clone(a.conditions)
	if a.barred != "" {
		wanted = append(wanted, metav1.Condition{Type: "Enforced", Status: metav1.ConditionFalse, Reason: a.barred, Message: "because of " + a.barred})
	}
	if apimeta.FindStatusCondition(wanted, "Enforced") == nil {
		wanted = append(wanted, metav1.Condition{Type: "Enforced", Status: metav1.ConditionTrue, Reason: "Enforced"})
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool { return apimeta.FindStatusCondition(wanted, c.Type) == nil })
	for _, c := range wanted {
		apimeta.SetStatusCondition(&status.Conditions, c)
	}
	if equality.Semantic.DeepEqual(stored.Status, share.Status) {
		return false
	}
	a.must(servers[a.name].Status().Update(a.t.Context(), share))
	return true
}

// release forgets the limit, deletes the ResourceQuota that a test has made for it if the share was told so, and lets
// the share go.
func (a *agent) release(share *quotav1alpha1.QuotaShare) bool {
	a.t.Helper()
	a.removal = share.Annotations[quotav1alpha1.RemovalAnnotation]
	a.hard, a.revision = nil, 0
	if a.removal != "" {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: share.Namespace, Name: share.Name}}
		a.must(client.IgnoreNotFound(servers[a.name].Delete(a.t.Context(), quota)))
	}
	if !controllerutil.RemoveFinalizer(share, quotav1alpha1.Finalizer) {
		return false
	}
	a.must(servers[a.name].Update(a.t.Context(), share))
	return true
}

// list returns quantities out of pairs of name and quantity.
func list(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range slices.Chunk(pairs, 2) {
		list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return list
}
