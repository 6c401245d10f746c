package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuotaShare is the part of a FederatedQuota's budget that this cluster is told to enforce. The hub writes its spec,
// the agent its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=qs,categories=fedquota
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`,description="Whether the revision is in force"
// +kubebuilder:printcolumn:name="Hard",type=string,JSONPath=`.status.hard`,description="The limits in force"
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.used`,description="What is used"
// +kubebuilder:printcolumn:name="Demand",type=string,JSONPath=`.status.demand`,description="What could be used beyond that"
// +kubebuilder:printcolumn:name="Fleet Used",type=string,priority=1,JSONPath=`.spec.fleet.used`,description="What all clusters used together, as the hub told last"
// +kubebuilder:printcolumn:name="Budget",type=string,priority=1,JSONPath=`.spec.fleet.budget`,description="What all clusters may use together"
// +kubebuilder:printcolumn:name="Waiting",type=string,priority=1,JSONPath=`.spec.fleet.waiting`,description="Clusters that could use more than they have"
// +kubebuilder:printcolumn:name="Revision",type=integer,priority=1,JSONPath=`.spec.revision`,description="The ledger's revision of this share"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Enforced")].reason`,description="Why it is enforced or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type QuotaShare struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the hub tells this cluster to enforce.
	// +required
	Spec QuotaShareSpec `json:"spec,omitzero"`

	// status is what this cluster enforces and uses.
	// +optional
	Status QuotaShareStatus `json:"status,omitzero"`
}

// QuotaShareSpec is what the hub tells a cluster to enforce.
//
// +kubebuilder:validation:XValidation:rule="self.revision >= oldSelf.revision",message="revision never goes down: this write was decided on an older ledger"
// +kubebuilder:validation:XValidation:rule="self.revision > oldSelf.revision || self.hard == oldSelf.hard",message="hard may change only with a higher revision"
// +kubebuilder:validation:XValidation:rule="(self.?scopes.orValue([]).size() > 0) == (oldSelf.?scopes.orValue([]).size() > 0) && (self.?scopes.orValue([]).size() == 0 || self.scopes == oldSelf.scopes)",message="scopes is immutable"
// +kubebuilder:validation:XValidation:rule="(self.?scopeSelector.?matchExpressions.orValue([]).size() > 0) == (oldSelf.?scopeSelector.?matchExpressions.orValue([]).size() > 0) && (self.?scopeSelector.?matchExpressions.orValue([]).size() == 0 || self.scopeSelector == oldSelf.scopeSelector)",message="scopeSelector is immutable"
type QuotaShareSpec struct {
	// revision is the fencing token: the ledger's revision of this cluster's entry.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	Revision int64 `json:"revision,omitempty"`

	// hard is the limit per resource name.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// scopes restrict what is counted, as in a ResourceQuota.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=Terminating;NotTerminating;BestEffort;NotBestEffort;PriorityClass;CrossNamespacePodAffinity;VolumeAttributesClass
	Scopes []corev1.ResourceQuotaScope `json:"scopes,omitempty"`

	// scopeSelector restricts what is counted, as in a ResourceQuota.
	// +optional
	ScopeSelector *corev1.ScopeSelector `json:"scopeSelector,omitempty"`

	// admission says what the agent does for requests that do not fit, as in the FederatedQuota.
	// +optional
	Admission Admission `json:"admission,omitempty,omitzero"`

	// existingQuotas says what becomes of ResourceQuotas that the agent has not made, as in the FederatedQuota.
	// +optional
	ExistingQuotas ExistingQuotas `json:"existingQuotas,omitempty,omitzero"`

	// takeOver names the ResourceQuota of the share's name that the agent may make its own, although it has not made it.
	// The hub counts its limit as granted to this cluster.
	// +optional
	TakeOver *TakeOver `json:"takeOver,omitempty"`

	// pong is the last status.ping that the hub has seen.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Pong int64 `json:"pong,omitempty"`

	// mostAllocatable is what nodes of this cluster can come to have for pods, those that may still come among them, by
	// resource name as nodes have it. It is left out where no node may come, and where nobody knows. Pods that find no
	// node hold back the demand of others like them only for what is beyond it.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	MostAllocatable map[corev1.ResourceName]resource.Quantity `json:"mostAllocatable,omitempty"`

	// fleet is what a refused team should know: the state of the whole budget when the share was written.
	// +optional
	Fleet Fleet `json:"fleet,omitempty,omitzero"`
}

// TakeOver names a ResourceQuota that may be taken over.
type TakeOver struct {
	// uid is that of the ResourceQuota.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// hard are the limits up to which it may be taken over.
	// +required
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`
}

// Fleet is the state of the whole budget, as the hub knew it when it wrote the share.
type Fleet struct {
	// budget is what all clusters may use together.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Budget map[corev1.ResourceName]resource.Quantity `json:"budget,omitempty"`

	// used is what all clusters used together.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// waiting are the clusters that could use more than they have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Waiting []ClusterName `json:"waiting,omitempty"`
}

// QuotaShareStatus is what a cluster enforces and uses. revision, hard and used come from one version of the
// ResourceQuota.
type QuotaShareStatus struct {
	// conditions of the QuotaShare.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the agent acted on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// revision in force. 0 while none is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// hard are the limits in force.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// used is what is used. Under a name of hard that is not here nothing is counted.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// existingQuota is the ResourceQuota of the share's name that the agent has not made and that has the share's scopes,
	// as long as there is one.
	// +optional
	ExistingQuota *ExistingQuota `json:"existingQuota,omitempty"`

	// ping is a counter by which the agent finds out whether the hub is there. The agent counts it up when it held a
	// request in vain and heard nothing from the hub meanwhile. It holds no request until spec.pong has caught up.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Ping int64 `json:"ping,omitempty"`

	// demand is what could be used right now beyond what is used.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Demand map[corev1.ResourceName]resource.Quantity `json:"demand,omitempty"`

	// unscheduled is the part of used that is charged for pods which no node has had room for, or which a gate has held,
	// for 30 seconds, or at all where spec.mostAllocatable is there.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Unscheduled map[corev1.ResourceName]resource.Quantity `json:"unscheduled,omitempty"`

	// unscheduledByShape are the pods that have waited for a node for 30 seconds and are larger than what any node has
	// left, by what one of them is charged. Pods of DaemonSets are not in it: each is for a node that is there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	UnscheduledByShape []DemandShape `json:"unscheduledByShape,omitempty"`

	// demandByShape splits demand by what one request asks for, small requests before large ones. Each shape stands for
	// all requests for the same amounts. Where there are more shapes than fit, the last ones stand for several large ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	DemandByShape []DemandShape `json:"demandByShape,omitempty"`

	// expected is what the next request is expected to ask for, of clients that ask again and again and are no workload
	// that the agent knows. As long as with it the cluster is within its fair part, it is kept free for that.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Expected map[corev1.ResourceName]resource.Quantity `json:"expected,omitempty"`

	// replacing is what was charged for pods that workloads have ended to replace them, as a rolling update does, and have
	// not made anew. The cluster keeps that part of its limit, until a workload has lacked pods for ten minutes.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Replacing map[corev1.ResourceName]resource.Quantity `json:"replacing,omitempty"`

	// demandByReplica is what refused requests ask for, by the replica of the agent that has seen them. The replica that
	// leads adds them up in demand, together with what it has seen itself. It is a map so that each replica patches its
	// own part alone.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	DemandByReplica map[string]ReplicaDemand `json:"demandByReplica,omitempty"`
}

// ExistingQuota is a ResourceQuota that the agent has not made.
type ExistingQuota struct {
	// uid is that of the ResourceQuota.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// hard are its limits in force.
	// +required
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=256
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// used is what is used of the names that are counted.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`
}

// DemandShape is the demand of requests that ask for the same.
type DemandShape struct {
	// amounts are what all of these requests ask for together.
	// +required
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Amounts map[corev1.ResourceName]resource.Quantity `json:"amounts,omitempty"`

	// unit is what one of them asks for, the smallest if they differ. Limits are raised by whole units where the budget
	// does not hold all that is asked for.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Unit map[corev1.ResourceName]resource.Quantity `json:"unit,omitempty"`
}

// ReplicaDemand is what the refused requests ask for that one replica of the agent has seen.
type ReplicaDemand struct {
	// renewTime changes with each write of the replica. A replica that has not written for as long as a request is
	// remembered is gone.
	// +required
	RenewTime metav1.MicroTime `json:"renewTime,omitzero"`

	// owners are the workloads that ask.
	// +required
	// +listType=map
	// +listMapKey=owner
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Owners []OwnerDemand `json:"owners,omitempty"`
}

// OwnerDemand is what one workload needs, some of it asked for by requests that do not fit.
type OwnerDemand struct {
	// owner is a hash that names the workload, the same at each replica. "others" stands for all that there is no space
	// for.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Owner string `json:"owner,omitempty"`

	// amounts are what it needs.
	// +required
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Amounts map[corev1.ResourceName]resource.Quantity `json:"amounts,omitempty"`

	// unit is what one of its requests asks for, the smallest if they differ.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Unit map[corev1.ResourceName]resource.Quantity `json:"unit,omitempty"`
}

// QuotaShareList is a list of QuotaShare.
//
// +kubebuilder:object:root=true
type QuotaShareList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of QuotaShare.
	Items []QuotaShare `json:"items"`
}
