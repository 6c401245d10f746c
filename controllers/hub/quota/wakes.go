package quota

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/pace"
)

// newcomers keeps back events of objects that were there before: each FederatedQuota has a round after a start anyway.
var newcomers = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

func (r *Reconciler) allQuotas(ctx context.Context, _ client.Object) []ctrl.Request {
	return r.quotas(ctx, anyQuota)
}

func anyQuota(*quotav1alpha1.FederatedQuota) bool { return true }

// concerned returns the FederatedQuotas to which a Cluster matters: none before the first round, since each is about to
// have one. What this leaves out otherwise is found by the round that each has anyway.
func (r *Reconciler) concerned(ctx context.Context, object client.Object) []ctrl.Request {
	if !r.heard.Load() {
		return nil
	}
	cluster, ok := object.(*clusterv1.Cluster)
	return r.quotas(ctx, func(fq *quotav1alpha1.FederatedQuota) bool {
		return !ok || input.Concerns(fq, r.Clusters.Of(cluster))
	})
}

// reported has each report of a member start a round: at once, unless it tells of nothing but other usage and its
// budget is large. What is there when members are connected to starts none before the first round.
func (r *Reconciler) reported() handler.EventHandler {
	now := &handler.EnqueueRequestForObject{}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, rounds queue) {
			if !e.IsInInitialList || r.heard.Load() {
				now.Create(ctx, e, rounds)
			}
		},
		DeleteFunc: now.Delete, GenericFunc: now.Generic,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, rounds queue) {
			if delay := r.usageDelay(ctx, e); delay > 0 {
				rounds.AddAfter(requests.For(e.ObjectNew), delay)
				return
			}
			now.Update(ctx, e, rounds)
		},
	}
}

// usageDelay returns how long the round may wait that a change of a share starts, 0 if it is to be made at once: room
// that comes free is for those who wait for it.
func (r *Reconciler) usageDelay(ctx context.Context, e event.UpdateEvent) time.Duration {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(e.ObjectNew), fq, client.UnsafeDisableDeepCopy); err != nil {
		return 0
	}
	delay := pace.UsageDelay(len(fq.Status.Clusters), r.memories.number())
	switch {
	case delay == 0, e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration():
		return 0
	case r.memories.waiting(fq.UID), !usageAlone(e.ObjectOld, e.ObjectNew):
		return 0
	}
	return delay
}

// usageAlone says whether a share differs in what is used of each name alone, or in what comes of that.
func usageAlone(before, after client.Object) bool {
	var shares [2]*quotav1alpha1.QuotaShare
	for i, object := range []client.Object{before, after} {
		share, ok := object.(*quotav1alpha1.QuotaShare)
		if !ok {
			return false
		}
		var err error
		if shares[i], err = pack.Unpack(share); err != nil {
			return false
		}
	}
	old, now := shares[0], shares[1]
	if !sets.KeySet(old.Status.Used).Equal(sets.KeySet(now.Status.Used)) {
		return false
	}
	old.ResourceVersion, old.Status.Used = now.ResourceVersion, now.Status.Used
	old.Status.Unscheduled, old.Status.Replacing = now.Status.Unscheduled, now.Status.Replacing
	old.Status.UnscheduledByShape = now.Status.UnscheduledByShape
	return equality.Semantic.DeepEqual(old, now)
}

// housed has rounds start of the FederatedQuotas whose namespace has come to be in a member. Of one that was there
// already the first round after the connection was made has found it.
func (r *Reconciler) housed() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, rounds queue) {
			if e.IsInInitialList {
				return
			}
			for _, request := range r.quotas(ctx, anyQuota, client.InNamespace(e.Object.GetName())) {
				rounds.Add(request)
			}
		},
	}
}

// siblings returns the other FederatedQuotas of a namespace: a conflict with one that changes or goes may have ended.
func (r *Reconciler) siblings(ctx context.Context, quota client.Object) []ctrl.Request {
	others := func(fq *quotav1alpha1.FederatedQuota) bool { return fq.Name != quota.GetName() }
	return r.quotas(ctx, others, client.InNamespace(quota.GetNamespace()))
}

// quotas returns those FederatedQuotas that are wanted.
func (r *Reconciler) quotas(
	ctx context.Context, wanted func(*quotav1alpha1.FederatedQuota) bool, options ...client.ListOption,
) []ctrl.Request {
	return requests.Those(ctx, r, &quotav1alpha1.FederatedQuotaList{}, wanted, options...)
}
