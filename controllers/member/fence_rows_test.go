package member_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// fenceRows are writes of the status.
func fenceRows() map[string]row {
	// The limit is 10 now, 20 are in force still, and 9 are used.
	late := func() *quotaBuilder {
		return quota("compute").managed("5").hard("pods", "20").status("pods", "9").lowered("pods", "10")
	}
	over := func() *quotaBuilder { return quota("compute").managed("5").hard("pods", "10").status("pods", "12") }
	own := func() *quotaBuilder { return quota("own").hard("pods", "20").status("pods", "9").lowered("pods", "10") }
	used := func(pairs ...string) request {
		return updateStatus(func(q *corev1.ResourceQuota) { q.Status.Used = with(q.Status.Used, pairs...) })
	}
	inForce := func(pairs ...string) request {
		return updateStatus(func(q *corev1.ResourceQuota) { q.Status.Hard = list(pairs...) })
	}
	dropped := updateStatus(func(q *corev1.ResourceQuota) { q.Status.Hard = nil })
	rows := map[string]row{
		"a charge up to a limit that was lowered":         {was: late(), by: apiServer, do: used("pods", "10")},
		"a charge above a limit that was lowered":         {was: late(), by: apiServer, do: used("pods", "11"), refused: charged},
		"a charge that overflows an integer":              {was: late(), by: apiServer, do: used("pods", "10E"), refused: charged},
		"a charge under another name":                     {was: over(), by: apiServer, do: used("services", "3")},
		"a charge above what is over the limit":           {was: over(), by: apiServer, do: used("pods", "13"), refused: charged},
		"a decrease above the limit":                      {was: over(), by: apiServer, do: used("pods", "11")},
		"usage above the limit that does not change":      {was: over(), by: apiServer, do: used("services", "1")},
		"the quota controller counts more than the limit": {was: late(), by: quotaController, do: used("pods", "25")},
		"the quota controller takes over the limit": {was: late(), by: quotaController, do: updateStatus(func(q *corev1.ResourceQuota) {
			q.Status.Hard, q.Status.Used = q.Spec.Hard, list("pods", "12")
		})},
		"a charge above the limit of one that is not managed":   {was: own(), by: apiServer, do: used("pods", "11")},
		"the limit in force of one that is not managed goes up": {was: own(), by: tenant, do: inForce("pods", "30")},
		"the limit in force of one that is not managed goes":    {was: own(), by: tenant, do: dropped},
		"the agent brings the limit into force":                 {was: late(), by: agent, do: statusPatch(`{"status":{"hard":{"pods":"10"}}}`)},
		"the agent brings in force the old limit":               {was: inUse(), by: agent, do: statusPatch(`{"status":{"hard":{"pods":"20"}}}`), refused: reopened},
		"anyone brings the limit in force above the limit":      {was: inUse(), by: tenant, do: inForce("pods", "11", "services", "4"), refused: reopened},
		"anyone raises a limit in force that is late":           {was: late(), by: tenant, do: inForce("pods", "21"), refused: reopened},
		"anyone lowers a limit in force that is late, too little": {
			was: late(), by: tenant, do: inForce("pods", "15"), refused: reopened,
		},
		"anyone brings in force a name that is not limited": {was: inUse(), by: tenant, do: inForce("pods", "10", "services", "4", "secrets", "1"), refused: reopened},
		"an old limit in force stays":                       {was: late(), by: tenant, do: used("pods", "9")},
		"a tenant takes a limit out of force":               {was: inUse(), by: tenant, do: inForce("pods", "10"), refused: outOfForce},
		"a tenant takes all limits out of force":            {was: inUse(), by: tenant, do: dropped, refused: outOfForce},
		"a limit out of force that left the spec": {
			was: inUse(), by: quotaController, do: updateStatus(nothing),
		},
		"a tenant breaks the glass through the status":  {was: inUse(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) { q.Annotations[glassAnnotation] = "why" }), refused: throughStatus},
		"a tenant sets the revision through the status": {was: inUse(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) { q.Annotations[revisionAnnotation] = "9" }), refused: throughStatus},
		"a tenant takes the label off through the status": {
			was: inUse(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) { delete(q.Labels, managedLabel) }), refused: throughStatus,
		},
		"a tenant takes the label off through the status by a patch": {
			was: inUse(), by: tenant, do: statusPatch(`{"metadata":{"labels":null}}`), refused: throughStatus,
		},
		"a tenant promotes through the status": {was: unmanaged(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) {
			metav1.SetMetaDataLabel(&q.ObjectMeta, managedLabel, "true")
		}), refused: throughStatus},
		"the agent promotes through the status": {
			was: released("1"), by: agent, do: statusPatch(`{"metadata":{"labels":{"quota.fedquota.io/managed":"true"}}}`), refused: throughStatus,
		},
		"a charge to which a policy adds a label": {was: inUse(), by: apiServer, do: updateStatus(func(q *corev1.ResourceQuota) {
			metav1.SetMetaDataLabel(&q.ObjectMeta, "team", "a")
			q.Status.Used = with(q.Status.Used, "pods", "9")
		})},
		"a charge to which a policy adds an annotation": {was: inUse(), by: apiServer, do: updateStatus(func(q *corev1.ResourceQuota) {
			metav1.SetMetaDataAnnotation(&q.ObjectMeta, "seen", "now")
			q.Status.Used = with(q.Status.Used, "pods", "9")
		})},
		"a tenant takes the revision away through the status": {was: inUse(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) {
			delete(q.Annotations, revisionAnnotation)
		}), refused: throughStatus},
		"a tenant labels one that is not managed through the status": {was: unmanaged(), by: tenant, do: updateStatus(func(q *corev1.ResourceQuota) {
			metav1.SetMetaDataLabel(&q.ObjectMeta, "team", "a")
		})},
	}
	return rows
}

func limitConfiguration(q *corev1.ResourceQuota) *corev1ac.ResourceQuotaApplyConfiguration {
	return corev1ac.ResourceQuota(q.Name, q.Namespace).WithSpec(corev1ac.ResourceQuotaSpec().WithHard(list("pods", "11")))
}
