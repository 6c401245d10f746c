package requirement

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/pace"
)

// Reconciler keeps the status of QuotaRequirements: which clusters enforce them, as far as the Enforcer knows. It lets
// one go that is deleted once no cluster enforces it any more.
type Reconciler struct {
	client.Client
	// Enforcer knows what members enforce.
	Enforcer *Enforcer
	// Clock says since when.
	Clock clock.PassiveClock

	stored sync.Map // of the time of the last write, by UID
}

// Reconcile writes the status of a QuotaRequirement.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	required := &quotav1alpha1.QuotaRequirement{}
	if err := r.Get(ctx, req.NamespacedName, required); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	removing, held := !required.DeletionTimestamp.IsZero(), controllerutil.ContainsFinalizer(
		required, quotav1alpha1.Finalizer,
	)
	switch {
	case removing && !held:
		return ctrl.Result{}, nil
	case !removing && !held:
		return ctrl.Result{}, r.finalize(ctx, required, controllerutil.AddFinalizer) // which brings it here again
	}
	entries, err := r.entries(ctx, required)
	if err != nil {
		return ctrl.Result{}, err
	}
	if removing && len(entries) == 0 {
		r.stored.Delete(required.UID)
		return ctrl.Result{}, r.finalize(ctx, required, controllerutil.RemoveFinalizer)
	}
	return r.store(ctx, required, entries)
}

// finalize adds or takes off the finalizer.
func (r *Reconciler) finalize(
	ctx context.Context, required *quotav1alpha1.QuotaRequirement, change func(client.Object, string) bool,
) error {
	stored := required.DeepCopy()
	change(required, quotav1alpha1.Finalizer)
	return client.IgnoreNotFound(
		r.Patch(ctx, required, patches.Since(stored)),
	)
}

// entries returns what the status is to say of clusters. A Cluster that does not exist, or is said to be destroyed,
// enforces nothing.
func (r *Reconciler) entries(
	ctx context.Context, required *quotav1alpha1.QuotaRequirement,
) ([]quotav1alpha1.RequirementCluster, error) {
	clusters, err := r.Enforcer.Clusters.List(ctx, r, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	var entries []quotav1alpha1.RequirementCluster
	for _, cluster := range clusters {
		if !cluster.DeletionTimestamp.IsZero() || members.Destroyed(ctx, r.Enforcer.Members, cluster.Cluster) {
			continue
		}
		if e := entry(required, cluster, r.Enforcer.State(cluster)); e != nil {
			entries = append(entries, *e)
		}
	}
	return entries, nil
}

// store writes the status if it is another one, and not more often than each second: many members may be heard of at
// once.
func (r *Reconciler) store(
	ctx context.Context, required *quotav1alpha1.QuotaRequirement, entries []quotav1alpha1.RequirementCluster,
) (ctrl.Result, error) {
	before, now := required.Status.DeepCopy(), r.Clock.Now()
	conditions.Replace(&required.Status.Conditions, report(required, entries), required.Generation, now)
	if equality.Semantic.DeepEqual(before, &required.Status) {
		return r.again(entries), nil
	}
	if last, ok := r.stored.Load(required.UID); ok {
		if wait := pace.StatusInterval - now.Sub(last.(time.Time)); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	r.stored.Store(required.UID, now)
	return r.again(entries), r.Status().Update(ctx, required)
}

// again says when to look again: nothing tells that the hub has failed to connect, after which a statement that a
// cluster is destroyed counts.
func (r *Reconciler) again(entries []quotav1alpha1.RequirementCluster) ctrl.Result {
	if slices.ContainsFunc(entries, func(e quotav1alpha1.RequirementCluster) bool { return e.Message != "" }) {
		return ctrl.Result{RequeueAfter: pace.RetryInterval}
	}
	return ctrl.Result{}
}
