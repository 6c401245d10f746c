// Package report decides what the status of a QuotaShare says.
package report

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Observation is all that a report is decided on. Quota is nil if there is none.
type Observation struct {
	Share   *quotav1alpha1.QuotaShare
	Quota   *corev1.ResourceQuota
	Foreign []string
	Demand  demand.Seen
	// Replacing is what was being replaced before usage was read: a pod that came meanwhile is in neither otherwise.
	Replacing  corev1.ResourceList
	EnforceErr error
	Stuck      bool
	// Unguarded names the policies that are not in force.
	Unguarded string
	// Uncharged says what keeps charges from being stored.
	Uncharged string
	Now       time.Time
}

// Status decides what the share's status says. Only a version of the ResourceQuota whose limits are in force is
// reported.
func Status(seen Observation) quotav1alpha1.QuotaShareStatus {
	status := *seen.Share.Status.DeepCopy()
	status.ObservedGeneration = seen.Share.Generation
	status.Demand, status.DemandByShape, status.Expected = seen.Demand.Total, seen.Demand.Shapes, seen.Demand.Expected
	status.Replacing, status.Unscheduled = seen.Demand.Replacing, seen.Demand.Unscheduled
	status.UnscheduledByShape = seen.Demand.Stranded
	status.DemandByReplica, status.Ping = seen.Demand.ByReplica, seen.Demand.Ping
	status.ExistingQuota = existing(seen)
	if AtRevision(seen) {
		status.Revision = nativequota.Revision(seen.Quota)
	}
	if AtRevision(seen) || replaced(seen) {
		status.Hard, status.Used = nativequota.StateOf(seen.Quota).Report()
	}
	wanted := append([]metav1.Condition{Enforced(seen)}, abnormal(seen)...)
	conditions.Replace(&status.Conditions, wanted, seen.Share.Generation, seen.Now)
	return status
}

// AtRevision says whether the ResourceQuota enforces its spec at a revision: what it says of limit and usage may be
// relied upon.
func AtRevision(seen Observation) bool { return reliable(seen) && nativequota.Revision(seen.Quota) > 0 }

// replaced says whether a ResourceQuota of somebody's own took the place of the one that enforced the share. It
// enforces no revision, but what it lets in was granted by nobody: the hub charges it at the last one.
func replaced(seen Observation) bool {
	return reliable(seen) && nativequota.Revision(seen.Quota) == 0 && seen.Share.Status.Revision > 0
}

// reliable says whether the ResourceQuota enforces its spec, and counts what the share counts.
func reliable(seen Observation) bool {
	if seen.Stuck || seen.Unguarded != "" || seen.Quota == nil || !managed.SameScopes(seen.Share, seen.Quota) {
		return false
	}
	return nativequota.StateOf(seen.Quota).InForce()
}

// existing returns what the hub has to know of a foreign ResourceQuota of the share's name to charge it, or nil.
func existing(seen Observation) *quotav1alpha1.ExistingQuota {
	if !reliable(seen) || !managed.IsForeign(seen.Quota) || !seen.Quota.DeletionTimestamp.IsZero() ||
		!counted(seen.Quota) {
		return nil
	}
	hard, used := nativequota.StateOf(seen.Quota).Report()
	return &quotav1alpha1.ExistingQuota{UID: string(seen.Quota.UID), Hard: hard, Used: used}
}

// Unblocks says whether somebody waits for the hub to read a report: more is lacked than was told, above the room there
// is, or nothing any more. Usage counts, too: others may ask while those go on that a report told of.
func Unblocks(before, after *quotav1alpha1.QuotaShareStatus) bool {
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
