package members

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// agent plays the agent of a member, its ResourceQuotas and those who use them.
type agent struct {
	store *store
	// delay is how long it takes to act.
	delay time.Duration
	// quotas are the ResourceQuotas, and loads what uses them. The mutex of the store is held for both.
	quotas map[types.NamespacedName]*ledger.Quota
	loads  map[types.NamespacedName]*load
}

// load is what runs in a namespace, and would run if it had no limit: requests that all ask for the same.
type load struct {
	unit            amount.List
	wanted, running int64
}

func newAgent(s *store, delay time.Duration) *agent {
	return &agent{store: s, delay: delay, quotas: map[types.NamespacedName]*ledger.Quota{}, loads: map[types.NamespacedName]*load{}}
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
	l := a.loads[key]
	if l == nil {
		l = &load{}
	}
	l.run(quota)
	quota.Hard = quota.Spec.DeepCopy()
	status := *share.Status.DeepCopy()
	status.ObservedGeneration, status.Revision = share.Generation, quota.Revision
	status.Hard, status.Used = quota.Report()
	status.Demand, status.DemandByShape = nil, nil
	if refused := l.wanted - l.running; refused > 0 {
		status.Demand = l.of(quota, refused)
		status.DemandByShape = []quotav1alpha1.DemandShape{{Amounts: status.Demand, Unit: l.of(quota, 1)}}
	}
	conditions.Replace(&status.Conditions, []metav1.Condition{{
		Type: quotav1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: quotav1alpha1.ReasonEnforced, Message: "The share is in force",
	}}, share.Generation, time.Now())
	return status
}

// run admits as many whole requests as the limit has room for under all of its names. What runs goes on while it is
// wanted.
func (l *load) run(quota *ledger.Quota) {
	fitting := l.wanted
	for name, limit := range amount.Saturate(quota.Spec, amount.Down) {
		if one := l.unit[name]; one > 0 {
			fitting = min(fitting, limit/one)
		}
	}
	l.running = max(fitting, min(l.running, l.wanted))
	quota.Used = l.of(quota, l.running)
}

// of returns what so many requests are charged under the names of a quota.
func (l *load) of(quota *ledger.Quota, requests int64) corev1.ResourceList {
	charged := amount.List{}
	for name := range quota.Spec {
		charged[name] = l.unit[name] * requests
	}
	return charged.ToList(quota.Spec)
}
