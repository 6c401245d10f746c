package ledger

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Quota is what one version of the ResourceQuota of a share says. Its methods are the agent's part of the protocol:
// what it writes and reports, by what it has read. They keep quantities as they are, since others write these lists,
// too.
type Quota struct {
	// Managed says whether it enforces a share, which guard and fence watch over.
	Managed bool
	// Revision is the one that it enforces, or did when it was released. 0: it never enforced a share.
	Revision int64
	// Spec is what was written (spec.hard), Hard what is in force (status.hard), and Used what is charged (status.used),
	// of the names that are counted.
	Spec, Hard, Used corev1.ResourceList
}

// Outdates says whether a share of the revision is none of its business any more.
func (q Quota) Outdates(revision int64) bool { return q.Revision > revision }

// Enforces says whether these limits were written at the revision.
func (q Quota) Enforces(revision int64, limits corev1.ResourceList) bool {
	return q.Managed && q.Revision == revision && quotav1.Equals(q.Spec, limits)
}

// Limits returns what is to be written for a share: its limit, or what is used where that is more, so that the limit
// follows usage down. What is used above the present limit raises no limit, whoever set that: nobody has granted it.
// Within one revision a limit only ever goes down, also of what was released at it.
func (q Quota) Limits(revision int64, share corev1.ResourceList) corev1.ResourceList {
	limits := make(corev1.ResourceList, len(share))
	for name, limit := range share {
		used := q.Used[name]
		present, limited := q.Spec[name]
		if limited {
			used = smaller(used, present)
		}
		limit = larger(limit, used)
		if limited && q.Revision == revision {
			limit = smaller(limit, present)
		}
		limits[name] = limit
	}
	return limits
}

// Inherit returns the state in which usage that is not counted yet is what others count of it.
func (q Quota) Inherit(used corev1.ResourceList) Quota {
	counted := q.Used
	q.Used = make(corev1.ResourceList, len(used)+len(counted))
	maps.Copy(q.Used, used)
	maps.Copy(q.Used, counted)
	return q
}

// Yield returns the limits for the attempt-th try after the guard refused to go below what is used, because usage rose
// meanwhile: each try leaves more room up to the present limit, which the last one keeps.
func (q Quota) Yield(limits corev1.ResourceList, attempt, attempts int64) corev1.ResourceList {
	wanted, present := amount.Saturate(limits, amount.Up), amount.Saturate(q.Spec, amount.Up)
	loose := limits.DeepCopy()
	for name, limit := range limits {
		used := q.Used[name]
		switch gap := present[name] - wanted[name]; {
		case gap <= 0 || limit.Cmp(used) > 0:
		case attempt >= attempts:
			loose[name] = q.Spec[name]
		default:
			loose[name] = amount.ToQuantity(name, wanted[name]+gap/attempts*attempt, limit.Format)
		}
	}
	return loose
}

// Publish returns the limits to put in force, so that nobody waits for the quota controller. A name whose usage is not
// known yet is left to it: limiting it would refuse every request. So is one that left Spec: it may be all that limits
// the namespace until the names that came are counted, and nothing is charged under a name that is not in force, so
// that its usage would be wrong if it came back.
func (q Quota) Publish() corev1.ResourceList {
	limits := make(corev1.ResourceList, len(q.Spec))
	maps.Copy(limits, q.Hard)
	for name, limit := range q.Spec {
		_, known := q.Used[name]
		if _, limited := q.Hard[name]; known || limited {
			limits[name] = limit
		}
	}
	return limits
}

// InForce says whether what was written is in force, and nothing else: limit and usage may be relied upon. Where
// nothing is counted under any name, the quota controller has taken them over once all are limited.
func (q Quota) InForce() bool {
	for name := range q.Hard {
		if _, stays := q.Spec[name]; !stays {
			return false
		}
	}
	all := len(q.Spec) > 0
	for name, limit := range q.Spec {
		_, known := q.Used[name]
		present, limited := q.Hard[name]
		if known && !limited || limited && present.Cmp(limit) != 0 {
			return false
		}
		all = all && limited
	}
	return all || len(q.Used) > 0
}

// Report returns the limits in force, and usage where it is known. A name with a limit and no usage is one that the
// quota controller has taken over and counts nothing under; one that it has yet to take over is in neither list.
func (q Quota) Report() (limits, used corev1.ResourceList) {
	return maps.Clone(q.Hard), quotav1.Mask(q.Used, quotav1.ResourceNames(q.Hard))
}

// Within says whether no more is used than was written.
func (q Quota) Within() bool {
	within, _ := quotav1.LessThanOrEqual(q.Used, q.Spec)
	return within
}

// Release returns the limits under which it is handed over to the users of the cluster: what is used. A limit goes up
// to that only as far as was reported, as in a namespace that was adopted with more: nobody would bring it there later.
// What native quota has let rise above the limit since then raises no limit: no ledger has charged that.
func (q Quota) Release(reported corev1.ResourceList) corev1.ResourceList {
	limits := maps.Clone(q.Spec)
	for name, used := range quotav1.Mask(q.Used, quotav1.ResourceNames(q.Spec)) {
		limits[name] = smaller(used, larger(q.Spec[name], reported[name]))
	}
	return limits
}

func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

func smaller(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}
