package members

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/internal/ledger"
)

// agent plays the agent of a member, its ResourceQuotas and those who use them.
type agent struct {
	store *store
	// delay is how long it takes to act.
	delay time.Duration
	// quotas are the ResourceQuotas, and wants what the namespaces would use without them. The mutex of the store is held
	// for both.
	quotas map[types.NamespacedName]*ledger.Quota
	wants  map[types.NamespacedName]corev1.ResourceList
}

func newAgent(s *store, delay time.Duration) *agent {
	return &agent{store: s, delay: delay, quotas: map[types.NamespacedName]*ledger.Quota{}, wants: map[types.NamespacedName]corev1.ResourceList{}}
}

// wake has the agent look at a share soon.
func (a *agent) wake(key types.NamespacedName) {
	time.AfterFunc(a.delay, func() { a.act(key) })
}

// act enforces a share and reports, or lets it go.
func (a *agent) act(key types.NamespacedName) {
	found := a.store.get(key)
	if found == nil {
		return
	}
	_, _ = a.store.change(key, func(share *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
		switch {
		case share == nil:
			return nil, nil
		case !share.DeletionTimestamp.IsZero():
			delete(a.quotas, key)
			return nil, nil
		}
		status := a.report(key, share)
		if equality.Semantic.DeepEqual(share.Status, status) {
			return share, errUnchanged
		}
		share.Status = status
		return share, nil
	})
}

// report enforces a share in the ResourceQuota, and returns what the agent says then.
func (a *agent) report(key types.NamespacedName, share *quotav1alpha1.QuotaShare) quotav1alpha1.QuotaShareStatus {
	quota := a.quotas[key]
	if quota == nil {
		quota = &ledger.Quota{Managed: true, Used: corev1.ResourceList{}}
		a.quotas[key] = quota
	}
	if limits := quota.Limits(share.Spec.Revision, share.Spec.Hard); !quota.Enforces(share.Spec.Revision, limits) {
		quota.Revision, quota.Spec = share.Spec.Revision, limits
	}
	demand := a.use(quota, a.wants[key])
	quota.Hard = quota.Spec.DeepCopy()
	status := *share.Status.DeepCopy()
	status.ObservedGeneration, status.Revision = share.Generation, quota.Revision
	status.Hard, status.Used = quota.Report()
	status.Demand, status.DemandByShape = demand, nil
	if len(demand) > 0 {
		status.DemandByShape = []quotav1alpha1.DemandShape{{Amounts: demand, Unit: unit(demand)}}
	}
	conditions.Replace(&status.Conditions, []metav1.Condition{{
		Type: quotav1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: quotav1alpha1.ReasonEnforced, Message: "The share is in force",
	}}, share.Generation, time.Now())
	return status
}

// use lets a namespace use what it wants as far as its limit goes. What runs goes on. It returns what is lacking.
func (a *agent) use(quota *ledger.Quota, wants corev1.ResourceList) (demand corev1.ResourceList) {
	for name, limit := range quota.Spec {
		used, want := quota.Used[name], wants[name]
		if want.Cmp(limit) > 0 {
			want = limit
			if used.Cmp(limit) > 0 {
				want = used
			}
			lacking := wants[name].DeepCopy()
			lacking.Sub(want)
			if demand == nil {
				demand = corev1.ResourceList{}
			}
			demand[name] = lacking
		}
		quota.Used[name] = want
	}
	return demand
}

// unit is what one of the requests asks for.
func unit(demand corev1.ResourceList) corev1.ResourceList {
	unit := corev1.ResourceList{}
	for name := range demand {
		one := resource.MustParse("1")
		if name == corev1.ResourceRequestsMemory {
			one = resource.MustParse("1Gi")
		}
		unit[name] = one
	}
	return unit
}
