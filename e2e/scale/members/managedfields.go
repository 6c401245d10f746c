package members

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedFields are about as long as those of a share that hub and agent have written: clients read them off the wire,
// and drop them.
var managedFields = []metav1.ManagedFieldsEntry{
	fieldsOf("fedquota-hub", "", `{"f:metadata":{"f:annotations":{".":{},"f:quota.fedquota.io/cluster":{}},"f:finalizers":{".":{},"v:\"quota.fedquota.io/removal\"":{}}},`+
		`"f:spec":{".":{},"f:admission":{".":{},"f:mode":{}},"f:hard":{".":{},"f:limits.cpu":{},"f:pods":{},"f:requests.cpu":{},"f:requests.memory":{}},"f:revision":{}}}`),
	fieldsOf("fedquota-agent", "status", `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Enforced\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},`+
		`"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:hard":{},"f:observedGeneration":{},"f:revision":{},"f:used":{}}}`),
}

func fieldsOf(manager, sub, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "quota.fedquota.io/v1alpha1", Time: new(metav1.Now()),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: sub,
	}
}
