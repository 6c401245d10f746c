// Package share holds the controller of the agent that makes a QuotaShare the limit of one native ResourceQuota, and
// reports what is in force and used.
package share

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/member/canary"
	"github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/controllers/member/share/neighbours"
	"github.com/fedquota/fedquota/controllers/member/share/report"
	"github.com/fedquota/fedquota/controllers/member/share/takeover"
	"github.com/fedquota/fedquota/controllers/predicates"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	// guardRetries is how often a lowering is tried again that the guard has refused, since usage rose meanwhile.
	guardRetries = 4
	// conflictDelay is how long caches are given to catch up with a write that this process or another has made.
	conflictDelay = 10 * time.Millisecond
	// workers is how many shares are looked at together: one whose requests take long does not hold up all others.
	workers = 4
	// jitter spreads these looks.
	jitter = 0.2
)

// Reconciler keeps one managed ResourceQuota per QuotaShare: it enforces the share's limit, and reports what is in
// force and used. It needs neither the hub nor any memory of its own.
type Reconciler struct {
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Clock paces reports.
	Clock clock.PassiveClock
	// Recorder writes events on QuotaShares.
	Recorder events.EventRecorder
	// Canary says whether the cluster's quota controller works, and guard and fence are in force.
	Canary *canary.Canary
	// Demand is what the cluster could use.
	Demand *demand.Demand
	// Ask has API servers ask the webhook about the namespaces of all shares; nil without a webhook.
	Ask func(ctx context.Context)

	reports sync.Map // of the time of the last report, by share
}

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotashares,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotashares/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=resourcequotas/status,verbs=patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	allShares := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []ctrl.Request {
		return r.shares(ctx)
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("share").
		For(&quotav1alpha1.QuotaShare{}, builder.WithPredicates(predicate.Or(
			predicates.Changed(func(share *quotav1alpha1.QuotaShare) any { return share.Spec }),
			predicate.AnnotationChangedPredicate{}, demand.StatementsChanged(),
		))).
		Watches(&corev1.ResourceQuota{}, r.quotaHandler()).
		WatchesRawSource(source.Channel(r.Canary.Changes(), allShares)).
		WatchesRawSource(r.Demand.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

func (r *Reconciler) shares(ctx context.Context, opts ...client.ListOption) []ctrl.Request {
	all := func(*quotav1alpha1.QuotaShare) bool { return true }
	return requests.Those(ctx, r, &quotav1alpha1.QuotaShareList{}, all, opts...)
}

// Reconcile enforces a share and reports what is in force. A conflict is no error: a look at what was written meanwhile
// follows.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	switch {
	case apierrors.IsConflict(err):
		ctrl.LoggerFrom(ctx).V(1).Info("Reading again after a conflict", "conflict", err.Error())
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case err != nil:
		return ctrl.Result{}, err
	default:
		return result, nil
	}
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	share := &quotav1alpha1.QuotaShare{}
	if err := r.Get(ctx, req.NamespacedName, share); err != nil {
		if apierrors.IsNotFound(err) {
			r.reports.Delete(req.NamespacedName)
			r.Demand.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	replacing := r.Demand.Replacing(share)
	quota, err := r.quotaOf(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !share.DeletionTimestamp.IsZero() {
		return r.remove(ctx, share, quota)
	}

	verdict := r.Canary.Verdict()
	if !verdict.Known {
		return ctrl.Result{}, nil // the verdict wakes all shares
	}
	seen, err := r.act(ctx, share, quota, verdict)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen.Replacing = replacing
	result, err := r.reportDemand(ctx, seen)
	if err == nil && !report.Expected(seen.EnforceErr) {
		err = seen.EnforceErr
	}
	return sooner(result, wait.Jitter(pace.ShareLookInterval, jitter)), err
}

// reportDemand reports with what the cluster could use, and wakes those that there is room for.
func (r *Reconciler) reportDemand(ctx context.Context, seen report.Observation) (ctrl.Result, error) {
	seen.Demand = r.Demand.See(seen.Share)
	seen.Demand.Replacing = quotav1.Max(seen.Demand.Replacing, seen.Replacing)
	result, err := r.report(ctx, seen)
	if seen.Demand.After > 0 {
		result = sooner(result, seen.Demand.After)
	}
	if report.AtRevision(seen) {
		r.Demand.Wake(ctx, seen.Share, seen.Quota)
	}
	return result, err
}

// sooner returns a result by which the next look comes after this time at the latest.
func sooner(result ctrl.Result, after time.Duration) ctrl.Result {
	if result.RequeueAfter == 0 || result.RequeueAfter > after {
		result.RequeueAfter = after
	}
	return result
}

// act enforces a share, and returns all that its report is decided on.
func (r *Reconciler) act(
	ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota, verdict canary.Verdict,
) (report.Observation, error) {
	seen := report.Observation{
		Share: share, Quota: quota, Now: r.Clock.Now(),
		Stuck: verdict.Stuck, Unguarded: verdict.Unguarded, Uncharged: verdict.Uncharged,
	}
	left, err := neighbours.Predecessors(ctx, r.Client, share)
	if err != nil {
		return seen, err
	}
	if verdict.Unguarded == "" {
		seen.Quota, seen.EnforceErr = r.enforce(ctx, share, quota, managed.Inherited(left))
	}
	if apierrors.IsConflict(seen.EnforceErr) || apierrors.IsAlreadyExists(seen.EnforceErr) {
		return seen, seen.EnforceErr
	}
	if err := takeover.Withdraw(ctx, r.Client, share, seen.Quota); err != nil {
		return seen, err
	}
	succession := neighbours.Succession{Client: r.Client, Recorder: r.Recorder}
	going := succession.Complete(ctx, share, left, report.Enforced(seen).Status == metav1.ConditionTrue)
	seen.Foreign, err = neighbours.Foreign(ctx, r.Client, share, going)
	return seen, err
}

// quotaOf returns the ResourceQuota of a share's name, or nil. It is read live, after the share: a report out of a
// cache could be older than one that another agent has written since.
func (r *Reconciler) quotaOf(ctx context.Context, key types.NamespacedName) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	if err := r.Live.Get(ctx, key, quota); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return quota, nil
}

// enforce writes the share into its ResourceQuota where that differs, and returns the ResourceQuota as it is then.
// Usage that is not counted there yet is what is inherited.
func (r *Reconciler) enforce(
	ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota, inherited corev1.ResourceList,
) (*corev1.ResourceQuota, error) {
	if quota != nil && leftAlone(share, quota) {
		return quota, nil
	}
	if err := r.begin(ctx, share, quota); err != nil {
		return quota, err
	}
	if quota == nil {
		hard := ledger.Quota{Spec: inherited}.Inherit(inherited).Limits(share.Spec.Revision, share.Spec.Hard)
		quota = managed.New(share, hard.DeepCopy())
		if err := r.Create(ctx, quota); err != nil {
			return quota, err
		}
		return quota, managed.AsWritten(quota, hard)
	}
	quota = quota.DeepCopy()
	outcome := r.enforceSpec(ctx, share, quota, inherited)
	if outcome != nil && !managed.IsChanged(outcome) {
		return quota, outcome
	}
	if patch := managed.StatusPatch(quota); patch != nil {
		if err := r.Status().Patch(ctx, quota, patch); err != nil {
			return quota, err
		}
	}
	return quota, outcome
}

// begin prepares that a ResourceQuota becomes managed, unless it is.
func (r *Reconciler) begin(ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) error {
	if quota != nil && nativequota.IsManaged(quota) {
		return nil
	}
	if r.Ask != nil {
		r.Ask(ctx) // the first limit is zero, and what does not fit is to be held from the start
	}
	if quota != nil && managed.IsForeign(quota) {
		if err := takeover.Begin(ctx, r.Client, share, quota); err != nil {
			return err
		}
	}
	return r.stillThere(ctx, share)
}

// leftAlone says whether the share is not to change quota.
func leftAlone(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) bool {
	return !managed.ForShare(share, quota) && !managed.MayTakeOver(share, quota) || nativequota.BrokenGlass(quota) != "" ||
		nativequota.StateOf(quota).Outdates(share.Spec.Revision)
}

// enforceSpec patches spec.hard and the revision together. The patch carries no resourceVersion: the guard judges it
// inside the API server's compare-and-swap loop, and refuses it if it is stale or goes below what is used by then. That
// the limits are others than the agent's afterwards is an error: within one revision, it cannot raise them again.
func (r *Reconciler) enforceSpec(
	ctx context.Context, share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota, inherited corev1.ResourceList,
) error {
	for attempt := int64(0); ; attempt++ {
		state := nativequota.StateOf(quota).Inherit(inherited)
		hard := state.Yield(state.Limits(share.Spec.Revision, share.Spec.Hard), attempt, guardRetries)
		if state.Enforces(share.Spec.Revision, hard) {
			return managed.AsWritten(quota, quotav1.Max(hard, share.Spec.Hard))
		}
		ctrl.LoggerFrom(ctx).Info("Enforcing the share", "revision", share.Spec.Revision, "hard", hard)
		err := r.Patch(ctx, quota, managed.SpecPatch(quota, share.Spec.Revision, hard))
		if err == nil {
			return managed.AsWritten(quota, quotav1.Max(hard, share.Spec.Hard))
		}
		if !apierrors.IsForbidden(err) || attempt == guardRetries {
			return err
		}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return fmt.Errorf("reading the ResourceQuota after the guard refused %v: %w", hard, err)
		}
		if leftAlone(share, quota) {
			return nil
		}
	}
}
