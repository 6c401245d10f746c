// Package v1alpha1 is the API of fedquota: the FederatedQuota, the QuotaPool and the QuotaRequirement on the hub, and
// the QuotaShare in each member.
//
// +kubebuilder:object:generate=true
// +groupName=quota.fedquota.io
package v1alpha1
