package share

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// observation is all that a report is decided on. quota is nil if there is none.
type observation struct {
	share   *quotav1alpha1.QuotaShare
	quota   *corev1.ResourceQuota
	foreign []string
	demand  demand.Seen
	// replacing is what was being replaced before usage was read: a pod that came meanwhile is in neither otherwise.
	replacing  corev1.ResourceList
	enforceErr error
	stuck      bool
	// unguarded names the policies that are not in force.
	unguarded string
	// uncharged says what keeps charges from being stored.
	uncharged string
	now       time.Time
}

// report writes the share's status if it says something new. A report that differs in usage alone may wait.
func (r *Reconciler) report(ctx context.Context, seen observation) (ctrl.Result, error) {
	status := statusOf(seen)
	stored := seen.share
	if equality.Semantic.DeepEqual(stored.Status, status) {
		return ctrl.Result{}, nil
	}
	if wait := r.paced(stored, status); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, r.store(ctx, stored, status, seen.now)
}

// store writes a share's status, and announces what is new of the conditions.
func (r *Reconciler) store(ctx context.Context, stored *quotav1alpha1.QuotaShare, status quotav1alpha1.QuotaShareStatus, now time.Time) error {
	share := stored.DeepCopy()
	share.Status = status
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, share, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.reports.Store(client.ObjectKeyFromObject(share), now)
	r.announce(share, stored.Status.Conditions, status.Conditions)
	return nil
}

// reportUnreleased says why the ResourceQuota of a deleted share is not yet what removal asks for. What was reported
// before stays.
func (r *Reconciler) reportUnreleased(ctx context.Context, share *quotav1alpha1.QuotaShare, reason error) error {
	status, now := *share.Status.DeepCopy(), r.Clock.Now()
	status.ObservedGeneration = share.Generation
	conditions.Set(&status.Conditions, metav1.Condition{
		Type: quotav1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: quotav1alpha1.ReasonWriteFailed,
		Message: fmt.Sprintf("Carrying out removal policy %s on the ResourceQuota failed: %s", share.Annotations[quotav1alpha1.RemovalAnnotation], reasonOf(reason)),
	}, share.Generation, now)
	if equality.Semantic.DeepEqual(share.Status, status) {
		return nil
	}
	return r.store(ctx, share, status, now)
}

// paced returns how long a report has to wait: one that differs from the stored one in usage alone tells the hub
// nothing that it must act upon at once.
func (r *Reconciler) paced(share *quotav1alpha1.QuotaShare, status quotav1alpha1.QuotaShareStatus) time.Duration {
	interval := pace.ReportInterval
	if unblocks(&share.Status, &status) {
		interval = pace.UrgentReportInterval
	}
	status.Used, status.Demand, status.DemandByShape = share.Status.Used, share.Status.Demand, share.Status.DemandByShape
	status.Expected, status.Replacing, status.Unscheduled = share.Status.Expected, share.Status.Replacing, share.Status.Unscheduled
	if told := share.Status.ExistingQuota; told != nil && status.ExistingQuota != nil {
		calm := *status.ExistingQuota
		calm.Used, status.ExistingQuota = told.Used, &calm
	}
	if !equality.Semantic.DeepEqual(share.Status, status) {
		return 0
	}
	last, ok := r.reports.Load(client.ObjectKeyFromObject(share))
	if !ok {
		return 0
	}
	return interval - r.Clock.Since(last.(time.Time))
}

// statusOf decides what the share's status says. Only a version of the ResourceQuota whose limits are in force is
// reported.
func statusOf(seen observation) quotav1alpha1.QuotaShareStatus {
	status := *seen.share.Status.DeepCopy()
	status.ObservedGeneration = seen.share.Generation
	status.Demand, status.DemandByShape, status.Expected = seen.demand.Total, seen.demand.Shapes, seen.demand.Expected
	status.Replacing, status.Unscheduled = seen.demand.Replacing, seen.demand.Unscheduled
	status.DemandByReplica, status.Ping = seen.demand.ByReplica, seen.demand.Ping
	status.ExistingQuota = existing(seen)
	if atRevision(seen) {
		status.Revision = nativequota.Revision(seen.quota)
	}
	if atRevision(seen) || replaced(seen) {
		status.Hard, status.Used = nativequota.StateOf(seen.quota).Report()
	}
	wanted := append([]metav1.Condition{enforced(seen)}, abnormal(seen)...)
	conditions.Replace(&status.Conditions, wanted, seen.share.Generation, seen.now)
	return status
}

// atRevision says whether the ResourceQuota enforces its spec at a revision: what it says of limit and usage may be
// relied upon.
func atRevision(seen observation) bool { return reliable(seen) && nativequota.Revision(seen.quota) > 0 }

// replaced says whether a ResourceQuota of somebody's own took the place of the one that enforced the share. It
// enforces no revision, but what it lets in was granted by nobody: the hub charges it at the last one.
func replaced(seen observation) bool {
	return reliable(seen) && nativequota.Revision(seen.quota) == 0 && seen.share.Status.Revision > 0
}

// reliable says whether the ResourceQuota enforces its spec, and counts what the share counts.
func reliable(seen observation) bool {
	if seen.stuck || seen.unguarded != "" || seen.quota == nil || !sameScopes(seen.share, seen.quota) {
		return false
	}
	return nativequota.StateOf(seen.quota).InForce()
}

// expected says whether an error of enforcing is a state that only somebody else can end.
func expected(err error) bool {
	return err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// enforced returns the summary of a share: is its revision in force, and if not, why.
func enforced(seen observation) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Type: quotav1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	share, quota := seen.share, seen.quota
	switch {
	case seen.unguarded != "":
		return no(quotav1alpha1.ReasonPolicyNotInForce, "%s", unguardedMessage(seen.unguarded))
	case apierrors.HasStatusCause(seen.enforceErr, corev1.NamespaceTerminatingCause):
		return no(quotav1alpha1.ReasonNamespaceTerminating, "Namespace %s is being deleted in this cluster", share.Namespace)
	case seen.enforceErr != nil:
		return no(quotav1alpha1.ReasonWriteFailed, "Writing the ResourceQuota failed: %s", reasonOf(seen.enforceErr))
	case !nativequota.IsManaged(quota):
		return no(quotav1alpha1.ReasonNameTaken, "ResourceQuota %s/%s %s", share.Namespace, share.Name, taken(share, quota))
	case !sameScopes(share, quota):
		return no(quotav1alpha1.ReasonNameTaken,
			"ResourceQuota %s/%s has other scopes, which cannot be changed: delete it after breaking the glass, or give the FederatedQuota another name",
			share.Namespace, share.Name)
	case nativequota.StateOf(quota).Outdates(share.Spec.Revision):
		return no(quotav1alpha1.ReasonStaleShare, "The share is of revision %d, and revision %d is enforced already", share.Spec.Revision, nativequota.Revision(quota))
	}
	return inForce(seen)
}

// inForce says of a share whose ResourceQuota was written whether it is in force.
func inForce(seen observation) metav1.Condition {
	condition := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: quotav1alpha1.ConditionEnforced, Status: status, Reason: reason, Message: message}
	}
	share, quota := seen.share, seen.quota
	never, notServed := uncounted(quota)
	switch {
	case len(never) > 0:
		return condition(metav1.ConditionFalse, quotav1alpha1.ReasonUnknownResource, fmt.Sprintf("ResourceQuota never counts anything under: %s. "+
			"Use a name that it counts, such as requests.cpu, requests.nvidia.com/gpu or count/deployments.apps", strings.Join(never, ", ")))
	case !atRevision(seen) || nativequota.Revision(quota) != share.Spec.Revision || !counted(quota):
		return condition(metav1.ConditionFalse, quotav1alpha1.ReasonPending, "The limit was written and is not in force yet")
	case len(notServed) > 0:
		return condition(metav1.ConditionTrue, quotav1alpha1.ReasonKindNotServed, fmt.Sprintf("The share is in force. This cluster serves no kind "+
			"that is counted under %s: the name is counted once the kind is there", strings.Join(notServed, ", ")))
	}
	return condition(metav1.ConditionTrue, quotav1alpha1.ReasonEnforced, "The share is in force")
}

// uncounted returns the names under which the cluster counts nothing: those that ResourceQuota never counts, and those
// of kinds that the cluster does not serve.
func uncounted(quota *corev1.ResourceQuota) (never, notServed []string) {
	for _, name := range nativequota.Uncounted(quota) {
		if nativequota.Name(corev1.ResourceName(name)) != "" {
			never = append(never, name)
		} else {
			notServed = append(notServed, name)
		}
	}
	return never, notServed
}

// taken returns why a ResourceQuota that is not managed is not taken over.
func taken(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) string {
	if state := nativequota.StateOf(quota); forShare(share, quota) && state.Outdates(share.Spec.Revision) {
		return fmt.Sprintf("was released at revision %d, and the share, of revision %d, is older: if the FederatedQuota lists this cluster, delete the ResourceQuota; if not, delete the share",
			state.Revision, share.Spec.Revision)
	}
	return notTaken(share, quota)
}

// reasonOf returns what an API server said, without the generated parts that would make each message a new one.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// counted says whether usage is known for every name in spec.hard that the cluster counts.
func counted(quota *corev1.ResourceQuota) bool {
	known := quotav1.Mask(quota.Status.Used, quotav1.ResourceNames(quota.Spec.Hard))
	return len(known)+len(nativequota.Uncounted(quota)) == len(quota.Spec.Hard)
}

// abnormal returns the conditions that are there only while they are true.
func abnormal(seen observation) []metav1.Condition {
	var conditions []metav1.Condition
	yes := func(condition, reason, message string) {
		conditions = append(conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	}
	if seen.stuck {
		yes(quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ReasonCanaryNotSynced,
			"The quota controller of this cluster does not follow changes: usage is not recounted, so nothing is reported until it does")
	}
	if seen.unguarded != "" {
		yes(quotav1alpha1.ConditionUnguarded, quotav1alpha1.ReasonPolicyNotInForce, unguardedMessage(seen.unguarded))
	}
	if seen.uncharged != "" {
		yes(quotav1alpha1.ConditionChargesRefused, quotav1alpha1.ReasonChargeNotStored,
			"This cluster cannot charge its ResourceQuotas, and refuses what they count even where there is room. Its API server says: "+seen.uncharged)
	}
	if len(seen.foreign) > 0 {
		yes(quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ReasonOtherQuotas, fmt.Sprintf(
			"Namespace %s has other ResourceQuotas: %s. %s", seen.share.Namespace, strings.Join(seen.foreign, ", "), nativequota.ForeignRisk))
	}
	if seen.quota != nil && nativequota.IsManaged(seen.quota) && nativequota.BrokenGlass(seen.quota) != "" {
		yes(quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ReasonAnnotated, fmt.Sprintf(
			"The agent leaves the ResourceQuota alone until annotation %s is removed; its reason: %q", quotav1alpha1.BreakGlassAnnotation, nativequota.BrokenGlass(seen.quota)))
	}
	if seen.demand.NodesFull {
		yes(quotav1alpha1.ConditionNodesFull, quotav1alpha1.ReasonUnschedulable,
			"Pods of this namespace have waited for a node in vain: no budget is asked for, for more like them")
	}
	return conditions
}

func unguardedMessage(policies string) string {
	return "Nothing is enforced anew or reported until these ValidatingAdmissionPolicies are in force, with their bindings: " + policies
}

// unblocks says whether somebody waits for the hub to read a report: more is lacked than was told, above the room there
// is, or nothing any more. Usage counts, too: others may ask while those go on that a report told of.
func unblocks(before, after *quotav1alpha1.QuotaShareStatus) bool {
	if len(after.Demand) == 0 {
		return len(before.Demand) > 0
	}
	lackedBefore, lacked := amount.Saturate(before.Demand, amount.Up), amount.Saturate(after.Demand, amount.Up)
	wasUsed, used := amount.Saturate(before.Used, amount.Up), amount.Saturate(after.Used, amount.Up)
	hard := amount.Saturate(after.Hard, amount.Down)
	for name, value := range lacked {
		need, needed := amount.Add(used[name], value), amount.Add(wasUsed[name], lackedBefore[name])
		if need > hard[name] && (value > lackedBefore[name] || need > needed) {
			return true
		}
	}
	return false
}
