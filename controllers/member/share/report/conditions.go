package report

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Expected says whether an error of enforcing is a state that only somebody else can end.
func Expected(err error) bool {
	return err == nil || managed.IsChanged(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Enforced returns the summary of a share: is its revision in force, and if not, why.
func Enforced(seen Observation) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return conditions.False(quotav1alpha1.ConditionEnforced, reason, fmt.Sprintf(format, args...))
	}
	share, quota := seen.Share, seen.Quota
	switch {
	case seen.Unguarded != "":
		return no(quotav1alpha1.ReasonPolicyNotInForce, "%s", unguardedMessage(seen.Unguarded))
	case apierrors.HasStatusCause(seen.EnforceErr, corev1.NamespaceTerminatingCause):
		return no(quotav1alpha1.ReasonNamespaceTerminating, "Namespace %s is being deleted in this cluster", share.Namespace)
	case seen.EnforceErr != nil:
		return no(quotav1alpha1.ReasonWriteFailed, "Writing the ResourceQuota failed: %s", reasonOf(seen.EnforceErr))
	case !nativequota.IsManaged(quota):
		return no(quotav1alpha1.ReasonNameTaken, "ResourceQuota %s/%s %s", share.Namespace, share.Name, taken(share, quota))
	case !managed.SameScopes(share, quota):
		return no(
			quotav1alpha1.ReasonNameTaken,
			"ResourceQuota %s/%s has other scopes, which cannot be changed: delete it after breaking the glass, or give the FederatedQuota another name",
			share.Namespace, share.Name,
		)
	case nativequota.StateOf(quota).Outdates(share.Spec.Revision):
		return no(
			quotav1alpha1.ReasonStaleShare, "The share is of revision %d, and revision %d is enforced already",
			share.Spec.Revision, nativequota.Revision(quota),
		)
	}
	return inForce(seen)
}

// inForce says of a share whose ResourceQuota was written whether it is in force.
func inForce(seen Observation) metav1.Condition {
	share, quota := seen.Share, seen.Quota
	never, notServed := uncounted(quota)
	switch {
	case len(never) > 0:
		return conditions.False(quotav1alpha1.ConditionEnforced, quotav1alpha1.ReasonUnknownResource, fmt.Sprintf(
			"ResourceQuota never counts anything under: %s. "+
				"Use a name that it counts, such as requests.cpu, requests.nvidia.com/gpu or count/deployments.apps",
			strings.Join(never, ", "),
		))
	case !AtRevision(seen) || nativequota.Revision(quota) != share.Spec.Revision || !counted(quota):
		return conditions.False(
			quotav1alpha1.ConditionEnforced, quotav1alpha1.ReasonPending, "The limit was written and is not in force yet")
	case len(notServed) > 0:
		return conditions.True(quotav1alpha1.ConditionEnforced, quotav1alpha1.ReasonKindNotServed, fmt.Sprintf(
			"The share is in force. This cluster serves no kind that is counted under %s: the name is counted once the "+
				"kind is there",
			strings.Join(notServed, ", "),
		))
	}
	return conditions.True(quotav1alpha1.ConditionEnforced, quotav1alpha1.ReasonEnforced, "The share is in force")
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
	if state := nativequota.StateOf(quota); managed.ForShare(share, quota) && state.Outdates(share.Spec.Revision) {
		return fmt.Sprintf(
			"was released at revision %d, and the share, of revision %d, is older: "+
				"if the FederatedQuota lists this cluster, delete the ResourceQuota; if not, delete the share",
			state.Revision, share.Spec.Revision,
		)
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
func abnormal(seen Observation) []metav1.Condition {
	var found []metav1.Condition
	yes := func(condition, reason, message string) {
		found = append(found, conditions.True(condition, reason, message))
	}
	if seen.Stuck {
		yes(
			quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ReasonCanaryNotSynced,
			"The quota controller of this cluster does not follow changes: usage is not recounted, "+
				"so nothing is reported until it does",
		)
	}
	if seen.Unguarded != "" {
		yes(quotav1alpha1.ConditionUnguarded, quotav1alpha1.ReasonPolicyNotInForce, unguardedMessage(seen.Unguarded))
	}
	if seen.Uncharged != "" {
		yes(
			quotav1alpha1.ConditionChargesRefused, quotav1alpha1.ReasonChargeNotStored,
			"This cluster cannot charge its ResourceQuotas, and refuses what they count even where there is room. "+
				"Its API server says: "+seen.Uncharged,
		)
	}
	if len(seen.Foreign) > 0 {
		yes(quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ReasonOtherQuotas, fmt.Sprintf(
			"Namespace %s has other ResourceQuotas: %s. %s", seen.Share.Namespace, strings.Join(seen.Foreign, ", "),
			nativequota.ForeignRisk,
		))
	}
	if seen.Quota != nil && nativequota.IsManaged(seen.Quota) && nativequota.BrokenGlass(seen.Quota) != "" {
		yes(quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ReasonAnnotated, fmt.Sprintf(
			"The agent leaves the ResourceQuota alone until annotation %s is removed; its reason: %q",
			quotav1alpha1.BreakGlassAnnotation, nativequota.BrokenGlass(seen.Quota),
		))
	}
	if seen.Demand.NodesFull {
		yes(quotav1alpha1.ConditionNodesFull, quotav1alpha1.ReasonUnschedulable,
			"Pods of this namespace have waited for a node in vain: no budget is asked for, for more like them")
	}
	return found
}

func unguardedMessage(policies string) string {
	return "Nothing is enforced anew or reported until these ValidatingAdmissionPolicies are in force, " +
		"with their bindings: " + policies
}

// notTaken returns why a foreign ResourceQuota of the share's name is not taken over, and what to do.
func notTaken(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) string {
	const give = "give the FederatedQuota another name"
	switch policy := share.Spec.ExistingQuotas.WhenToTakeOver; {
	case policy != quotav1alpha1.TakeOverAlways && policy != quotav1alpha1.TakeOverIfNoDiff:
		return "exists and is not managed by the agent: " +
			"set spec.existingQuotas.whenToTakeOver of the FederatedQuota, delete it, or " + give
	case !managed.SameScopes(share, quota):
		return "has other scopes than the FederatedQuota, which cannot be changed, so it is not taken over: " +
			"delete it, or " + give
	case !managed.Covers(share, quota):
		return fmt.Sprintf(
			"also limits %s, which nothing would limit once it were taken over: "+
				"add that to spec.hard of the FederatedQuota, or take it out of the ResourceQuota",
			strings.Join(managed.Beyond(share, quota), ", "),
		)
	case !counted(quota):
		return "is about to be taken over: its usage is not known yet"
	}
	return "is about to be taken over: the hub has yet to charge its limit"
}

// Unreleased returns the status of a deleted share whose ResourceQuota is not yet what removal asks for, and why. What
// was reported before stays.
func Unreleased(share *quotav1alpha1.QuotaShare, reason error, now time.Time) quotav1alpha1.QuotaShareStatus {
	status := *share.Status.DeepCopy()
	status.ObservedGeneration = share.Generation
	why := fmt.Sprintf("Carrying out removal policy %s on the ResourceQuota failed: %s",
		share.Annotations[quotav1alpha1.RemovalAnnotation], reasonOf(reason))
	failed := conditions.False(quotav1alpha1.ConditionEnforced, quotav1alpha1.ReasonWriteFailed, why)
	conditions.Set(&status.Conditions, failed, share.Generation, now)
	return status
}
