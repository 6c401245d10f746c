package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FederatedQuota is one resource budget for a namespace over many clusters. In every selected cluster a native
// ResourceQuota of the same namespace and name enforces a part of it; the parts never add up to more than the budget.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fq,categories=fedquota
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every selected cluster enforces its target"
// +kubebuilder:printcolumn:name="Settled",type=string,JSONPath=`.status.settled`,description="Clusters that enforce their target / clusters selected"
// +kubebuilder:printcolumn:name="Tightest",type=string,JSONPath=`.status.tightest`,description="The resource with the least room: used/budget"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type FederatedQuota struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the budget and how it is split.
	// +required
	Spec FederatedQuotaSpec `json:"spec,omitzero"`

	// status is the ledger, and a snapshot of usage.
	// +optional
	Status FederatedQuotaStatus `json:"status,omitzero"`
}

// FederatedQuotaSpec is the budget and how it is split.
//
// +kubebuilder:validation:XValidation:rule="has(self.scopes) == has(oldSelf.scopes) && (!has(self.scopes) || self.scopes == oldSelf.scopes)",message="scopes is immutable, as it is in a ResourceQuota: create another FederatedQuota"
// +kubebuilder:validation:XValidation:rule="has(self.scopeSelector) == has(oldSelf.scopeSelector) && (!has(self.scopeSelector) || self.scopeSelector == oldSelf.scopeSelector)",message="scopeSelector is immutable, since a member would not recount usage: create another FederatedQuota"
// +kubebuilder:validation:XValidation:rule="!has(self.reserve) || self.reserve.all(name, name in self.hard)",message="reserve may only name resources that hard names"
type FederatedQuotaSpec struct {
	// hard is the budget per resource name, as in a ResourceQuota: the most that all selected clusters may use together.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// scopes restrict what is counted, as in a ResourceQuota.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=Terminating;NotTerminating;BestEffort;NotBestEffort;PriorityClass;CrossNamespacePodAffinity;VolumeAttributesClass
	Scopes []corev1.ResourceQuotaScope `json:"scopes,omitempty"`

	// scopeSelector restricts what is counted, as in a ResourceQuota.
	// +optional
	ScopeSelector *corev1.ScopeSelector `json:"scopeSelector,omitempty"`

	// reserve is the part of hard that is never handed out.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Reserve map[corev1.ResourceName]resource.Quantity `json:"reserve,omitempty"`

	// placement says which clusters share the budget.
	// +required
	Placement Placement `json:"placement,omitzero"`

	// distribution says how the budget is split. Defaults to equal weights without bounds.
	// +optional
	Distribution Distribution `json:"distribution,omitempty,omitzero"`

	// rebalance says how limits move.
	// +optional
	Rebalance Rebalance `json:"rebalance,omitempty,omitzero"`

	// admission says what agents do for requests that do not fit.
	// +optional
	Admission Admission `json:"admission,omitempty,omitzero"`

	// removal says what happens to a member's ResourceQuota when its cluster leaves or the FederatedQuota is deleted.
	// +optional
	Removal Removal `json:"removal,omitempty,omitzero"`
}

// ClusterName is the name of a Cluster API Cluster in the namespace that the hub manager watches.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type ClusterName string

// Placement selects Clusters: those that the selector matches and those that are named.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterSelector) || has(self.clusters)",message="placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"
type Placement struct {
	// clusterSelector selects Clusters by their labels. An empty selector selects every Cluster.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusters selects Clusters by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterName `json:"clusters,omitempty"`

	// createNamespace says whether the namespace is created in a member that does not have it. Defaults to false.
	// +optional
	CreateNamespace *bool `json:"createNamespace,omitempty"`
}

// WeightRule says where the weights of clusters come from.
//
// +kubebuilder:validation:Enum=Equal;Static
type WeightRule string

const (
	// WeightsEqual gives every cluster the same weight.
	WeightsEqual WeightRule = "Equal"
	// WeightsStatic takes the weight of a cluster from the last rule that matches it and has one, else 1.
	WeightsStatic WeightRule = "Static"
)

// Distribution says how the budget is split.
//
// +kubebuilder:validation:MinProperties=1
type Distribution struct {
	// weights says where the weights of clusters come from. Defaults to Static.
	// +optional
	Weights WeightRule `json:"weights,omitempty"`

	// rules set weight, min and max for the clusters that they match. Each of the three comes from the last rule that
	// matches the cluster and sets it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Rules []DistributionRule `json:"rules,omitempty"`
}

// DistributionRule sets weight, min and max for the clusters that it matches: those it names and those its selector
// matches; all of them if it has neither.
//
// +kubebuilder:validation:MinProperties=1
type DistributionRule struct {
	// clusters are names of Clusters that the rule matches.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterName `json:"clusters,omitempty"`

	// clusterSelector matches Clusters by their labels.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// weight of each matched cluster. A cluster of weight 0 stands last in line: beyond its min it
	// gets what all others cannot take.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight *int32 `json:"weight,omitempty"`

	// min is guaranteed to each matched cluster.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Min map[corev1.ResourceName]resource.Quantity `json:"min,omitempty"`

	// lendable is the part of min that other clusters may use while it is idle. It comes back as their usage ends.
	// Defaults to nothing. It only counts in mode Auto.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Lendable map[corev1.ResourceName]resource.Quantity `json:"lendable,omitempty"`

	// max is the most that each matched cluster may get.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Max map[corev1.ResourceName]resource.Quantity `json:"max,omitempty"`
}

// RebalanceMode says what limits follow.
//
// +kubebuilder:validation:Enum=Auto;Static
type RebalanceMode string

const (
	// RebalanceAuto means that limits follow demand, between min and max, by weighted max-min.
	RebalanceAuto RebalanceMode = "Auto"
	// RebalanceStatic means that the budget is split by weights, min and max alone.
	RebalanceStatic RebalanceMode = "Static"
)

// Rebalance says how limits move.
//
// +kubebuilder:validation:MinProperties=1
type Rebalance struct {
	// mode says what limits follow. Defaults to Auto.
	// +optional
	Mode RebalanceMode `json:"mode,omitempty"`

	// headroomPercent is the room that each cluster is given beyond what it needs, in percent of its need, as far as the
	// budget goes. Defaults to 10. It only counts in mode Auto.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HeadroomPercent *int32 `json:"headroomPercent,omitempty"`

	// dampingSeconds is the least time between two moves of a cluster's limit that serve headroom alone. What somebody
	// needs moves at once. Defaults to 60 where requests may be held, since who has no headroom waits a moment then and is not
	// refused, and to 5 with admission Off. It only counts in mode Auto.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	DampingSeconds *int32 `json:"dampingSeconds,omitempty"`
}

// AdmissionMode says what happens to a request that does not fit.
//
// +kubebuilder:validation:Enum=Hold;Off
type AdmissionMode string

const (
	// AdmissionHold means that a request that does not fit states its demand and is held for a raise.
	AdmissionHold AdmissionMode = "Hold"
	// AdmissionOff means that requests are left to the native ResourceQuota; demand is what workloads lack.
	AdmissionOff AdmissionMode = "Off"
)

// PokeMode says whether workloads that were refused are woken.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type PokeMode string

const (
	// PokeEnabled means that the agent touches the owners of refused objects after a raise, by one annotation.
	PokeEnabled PokeMode = "Enabled"
	// PokeDisabled means that refused workloads try again in their own time.
	PokeDisabled PokeMode = "Disabled"
)

// Admission says what agents do for requests that do not fit.
//
// +kubebuilder:validation:MinProperties=1
type Admission struct {
	// mode says what happens to a request that does not fit. Defaults to Hold.
	// +optional
	Mode AdmissionMode `json:"mode,omitempty"`

	// waitMilliseconds is how long a request may be held for a raise. Defaults to 500.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	WaitMilliseconds *int32 `json:"waitMilliseconds,omitempty"`

	// poke says whether workloads that were refused are woken after a raise, rather than sleeping on in back-off.
	// Defaults to Enabled.
	// +optional
	Poke PokeMode `json:"poke,omitempty"`
}

// RemovalPolicy says what becomes of a member's ResourceQuota.
//
// +kubebuilder:validation:Enum=Retain;Delete
type RemovalPolicy string

const (
	// RemovalRetain leaves the ResourceQuota, no longer managed, with a limit of what is used.
	RemovalRetain RemovalPolicy = "Retain"
	// RemovalDelete deletes the ResourceQuota: the namespace is unlimited then.
	RemovalDelete RemovalPolicy = "Delete"
)

// Removal says what happens when a cluster leaves or the FederatedQuota is deleted.
//
// +kubebuilder:validation:MinProperties=1
type Removal struct {
	// policy says what becomes of the ResourceQuota in the member. Defaults to Retain.
	// +optional
	Policy RemovalPolicy `json:"policy,omitempty"`

	// destroyed names clusters that no longer exist: what was granted to them is free without their word. Naming a cluster
	// that still runs breaks the promise that the budget is never exceeded.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Destroyed []ClusterName `json:"destroyed,omitempty"`
}

// FederatedQuotaStatus is the ledger, and a snapshot of usage.
type FederatedQuotaStatus struct {
	// conditions of the FederatedQuota.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the ledger follows.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// settled is how many of the selected clusters enforce their target, as "settled/selected".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Settled string `json:"settled,omitempty"`

	// tightest is the resource with the least room, as "name: used/budget".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Tightest string `json:"tightest,omitempty"`

	// hard is the budget: spec.hard less spec.reserve.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// granted is the sum of what clusters were granted.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Granted map[corev1.ResourceName]resource.Quantity `json:"granted,omitempty"`

	// used is the sum of what clusters last reported as used.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// demand is the sum of what clusters could use beyond what they use.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Demand map[corev1.ResourceName]resource.Quantity `json:"demand,omitempty"`

	// free is what can be granted at once, without taking from anyone.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Free map[corev1.ResourceName]resource.Quantity `json:"free,omitempty"`

	// revision is the ledger's counter: the highest revision that any cluster's entry took.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// clusters is the ledger: an entry for each cluster that was granted something or is selected.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// ClusterState sums up a cluster's entry in the ledger.
//
// +kubebuilder:validation:Enum=Unread;Settled;Settling;Draining;Leaving;Unreachable;NotReady;Stuck;BreakGlass
type ClusterState string

const (
	// ClusterUnread means that the cluster may hold a share and was not read yet; granted is an assumption.
	ClusterUnread ClusterState = "Unread"
	// ClusterSettled means that the cluster enforces its target.
	ClusterSettled ClusterState = "Settled"
	// ClusterSettling means that the target is on its way.
	ClusterSettling ClusterState = "Settling"
	// ClusterDraining means that the cluster uses more than its target; its limit follows its usage down.
	ClusterDraining ClusterState = "Draining"
	// ClusterLeaving means that the cluster is no longer selected and gives back what it was granted as its usage falls.
	ClusterLeaving ClusterState = "Leaving"
	// ClusterUnreachable means that the cluster cannot be read.
	ClusterUnreachable ClusterState = "Unreachable"
	// ClusterNotReady means that the cluster cannot take a share: no agent, no namespace, or an unknown resource.
	ClusterNotReady ClusterState = "NotReady"
	// ClusterStuck means that the quota controller of the cluster does not work.
	ClusterStuck ClusterState = "Stuck"
	// ClusterBreakGlass means that somebody has taken the cluster's ResourceQuota out of the agent's hands.
	ClusterBreakGlass ClusterState = "BreakGlass"
)

// ClusterStatus is a cluster's entry in the ledger, and what the cluster last reported. It has one writer, and as an
// atomic struct it costs the API server a tenth less to remember who that is.
//
// +structType=atomic
type ClusterStatus struct {
	// name of the Cluster.
	// +required
	Name ClusterName `json:"name,omitempty"`

	// uid is the one of the Cluster object that the entry was granted to. Another Cluster of the name is another cluster,
	// unless its share says otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// revision of the entry: the fencing token of the share that was written for it. 0 while the cluster was never read.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// granted is the most that the cluster may be enforcing or using, as far as the hub can know.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Granted map[corev1.ResourceName]resource.Quantity `json:"granted,omitempty"`

	// target is what the hub wants the cluster's limit to be. It is left out while it equals granted.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Target map[corev1.ResourceName]resource.Quantity `json:"target,omitempty"`

	// used is what the cluster last reported as used.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// demand is what the cluster last reported that it could use beyond what it uses.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Demand map[corev1.ResourceName]resource.Quantity `json:"demand,omitempty"`

	// removal is what the share of a cluster that leaves was told shall become of the ResourceQuota, once it was. Only then
	// does it mean anything that the share is gone.
	// +optional
	Removal RemovalPolicy `json:"removal,omitempty"`

	// state sums up the entry.
	// +optional
	State ClusterState `json:"state,omitempty"`

	// since is when the cluster entered its state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// message says what holds the cluster back, if anything does.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// FederatedQuotaList is a list of FederatedQuota.
//
// +kubebuilder:object:root=true
type FederatedQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of FederatedQuota.
	Items []FederatedQuota `json:"items"`
}
