package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuotaRecord is what became of one FederatedQuota in one month: who had how much of it for how long, which limits
// moved, and who changed its spec. Or it is what became of one QuotaPool, in the namespace of the hub manager.
// The hub manager writes it, and removes it after a while; it stays when the object goes. kubectl fedquota report and
// kubectl fedquota history read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=qrec,categories=fedquota
// +kubebuilder:printcolumn:name="Quota",type=string,JSONPath=`.quota`,description="The FederatedQuota; none in the record of a pool"
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.pool`,description="The QuotaPool",priority=1
// +kubebuilder:printcolumn:name="Month",type=string,JSONPath=`.month`,description="The month, in UTC"
// +kubebuilder:printcolumn:name="Until",type=date,JSONPath=`.until`,description="Time since what is recorded ends"
// +kubebuilder:printcolumn:name="Unobserved",type=integer,JSONPath=`.unobservedSeconds`,description="Seconds for which no hub manager looked"
type QuotaRecord struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// quota is the name of the FederatedQuota. It is empty in the record of a QuotaPool.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Quota string `json:"quota,omitempty"`

	// month is the month, such as 2026-11. Months begin and end in UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}$`
	Month string `json:"month,omitempty"`

	// pool is the QuotaPool that the FederatedQuota named last, or the one that the record is of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pool string `json:"pool,omitempty"`

	// from is when what is recorded begins.
	// +optional
	From *metav1.Time `json:"from,omitempty"`

	// until is when what is recorded ends.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// unobservedSeconds is for how long between them no hub manager looked. What was known last counts for that time.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2678400
	UnobservedSeconds *int64 `json:"unobservedSeconds,omitempty"`

	// budgetHours is the budget times hours, by resource name: 10 cores for two hours are 20.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	BudgetHours map[corev1.ResourceName]resource.Quantity `json:"budgetHours,omitempty"`

	// usedHours is what was used times hours, by resource name.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	UsedHours map[corev1.ResourceName]resource.Quantity `json:"usedHours,omitempty"`

	// data is all that is recorded: JSON, compressed by gzip. Its form may change from version to version.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	Data []byte `json:"data,omitempty"`
}

// QuotaRecordList is a list of QuotaRecord.
//
// +kubebuilder:object:root=true
type QuotaRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of QuotaRecord.
	Items []QuotaRecord `json:"items"`
}
