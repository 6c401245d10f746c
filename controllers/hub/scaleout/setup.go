package scaleout

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/served"
)

// The hub manager needs list of machinedeployments and update of their scale beside what all others need. Both are in
// config/scaleout, since they are for hub managers with --scale-out alone.

// poolKind is that of pools.
var poolKind = quotav1alpha1.GroupVersion.WithKind("QuotaPool").GroupKind()

// SetupWithManager registers a reconciler of FederatedQuotas now, and one of QuotaPools once these are served.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	if err := r.of(quotas).begin(mgr, &quotav1alpha1.FederatedQuota{}, options); err != nil {
		return err
	}
	return served.Once(mgr, func() error {
		ofPools := r.of(pools)
		return ofPools.begin(mgr, &quotav1alpha1.QuotaPool{}, options, ofPools.waiting)
	}, poolKind)
}

// of returns the reconciler for budgets of a kind.
func (r *Reconciler) of(k kind) *Reconciler {
	other := *r
	other.kind, other.short = k, &sync.Map{}
	return &other
}

func (r *Reconciler) begin(
	mgr ctrl.Manager, object client.Object, options controller.Options, watches ...func(*builder.Builder),
) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named(r.kind.name).
		For(object, builder.WithPredicates(news)).
		WithOptions(options)
	for _, watch := range watches {
		watch(b)
	}
	return b.Complete(r)
}

// waiting has pools be looked at when pods below them begin to wait for a node, which their own status does not tell.
func (r *Reconciler) waiting(b *builder.Builder) {
	begins := predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return Waits(e.Object.(*quotav1alpha1.FederatedQuota)) },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return Waits(e.ObjectNew.(*quotav1alpha1.FederatedQuota)) && !Waits(e.ObjectOld.(*quotav1alpha1.FederatedQuota))
		},
	}
	b.Watches(&quotav1alpha1.FederatedQuota{}, handler.EnqueueRequestsFromMapFunc(r.above), builder.WithPredicates(begins))
}

// above returns the pools above a FederatedQuota that want nodes to be added.
func (r *Reconciler) above(ctx context.Context, fq client.Object) []ctrl.Request {
	var list quotav1alpha1.QuotaPoolList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list QuotaPools")
		return nil
	}
	below := []quotav1alpha1.FederatedQuota{*fq.(*quotav1alpha1.FederatedQuota)}
	var requests []ctrl.Request
	for i := range list.Items {
		p := &list.Items[i]
		if b := OfPool(p); b.Asks() && len(Below(p.Name, list.Items, below)) > 0 {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
	}
	return requests
}

// news lets through budgets that want nodes to be added, where something of that has changed.
var news = predicate.Funcs{
	CreateFunc:  func(e event.CreateEvent) bool { b := budgetOf(e.Object); return b.Asks() },
	DeleteFunc:  func(e event.DeleteEvent) bool { b := budgetOf(e.Object); return b.Asks() },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := budgetOf(e.ObjectOld), budgetOf(e.ObjectNew)
		before.Status, after.Status = nil, nil
		same := equality.Semantic.DeepEqual(before, after) && observed(e.ObjectOld) == observed(e.ObjectNew)
		return (before.Asks() || after.Asks()) && !same
	},
}

// observed returns of which generation of the spec a status speaks, and whether that cannot be acted on.
func observed(object client.Object) [2]any {
	if p, is := object.(*quotav1alpha1.QuotaPool); is {
		return [2]any{p.Status.ObservedGeneration, stalled(p.Status.Conditions)}
	}
	fq := object.(*quotav1alpha1.FederatedQuota)
	return [2]any{fq.Status.ObservedGeneration, stalled(fq.Status.Conditions)}
}

func stalled(all []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(all, quotav1alpha1.ConditionStalled)
}

func budgetOf(object client.Object) Budget {
	if p, is := object.(*quotav1alpha1.QuotaPool); is {
		return OfPool(p)
	}
	return OfQuota(object.(*quotav1alpha1.FederatedQuota))
}
