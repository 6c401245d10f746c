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
// +kubebuilder:printcolumn:name="Tightest",type=string,JSONPath=`.status.tightest`,description="The resources with the least room: used/budget"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Pool",type=string,priority=1,JSONPath=`.spec.pool.name`,description="The QuotaPool that the budget is a part of"
// +kubebuilder:printcolumn:name="Capacity",type=string,priority=1,JSONPath=`.status.capacity.summary`,description="The nodes that the budget was made from"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.status!="True")].message`,description="Why it is not ready"
type FederatedQuota struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the budget and how it is split.
	// +required
	Spec FederatedQuotaSpec `json:"spec,omitzero"`

	// status says how the budget is split now, and what was used of it a moment ago.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FederatedQuotaStatus `json:"status,omitzero"`
}

// FederatedQuotaSpec is the budget and how it is split. A list or a map of amounts that is optional and empty means
// what it means to leave it out, and so does an object without fields; but an empty selector selects everything.
//
// +kubebuilder:validation:XValidation:rule="(self.?scopes.orValue([]).size() > 0) == (oldSelf.?scopes.orValue([]).size() > 0) && (self.?scopes.orValue([]).size() == 0 || self.scopes == oldSelf.scopes)",message="scopes is immutable, as it is in a ResourceQuota: create another FederatedQuota"
// +kubebuilder:validation:XValidation:rule="(self.?scopeSelector.?matchExpressions.orValue([]).size() > 0) == (oldSelf.?scopeSelector.?matchExpressions.orValue([]).size() > 0) && (self.?scopeSelector.?matchExpressions.orValue([]).size() == 0 || self.scopeSelector == oldSelf.scopeSelector)",message="scopeSelector is immutable, since a member would not recount usage: create another FederatedQuota"
// +kubebuilder:validation:XValidation:rule="!has(self.reserve) || has(self.capacity) || has(self.hard) && self.reserve.all(name, name in self.hard)",fieldPath=".reserve",message="may only name resources that hard names"
// +kubebuilder:validation:XValidation:rule="!has(self.distribution) || !has(self.distribution.granularity) || has(self.capacity) || has(self.hard) && self.distribution.granularity.all(name, name in self.hard)",fieldPath=".distribution.granularity",message="may only name resources that hard names"
// +kubebuilder:validation:XValidation:rule="self.?hard.orValue({}).size() + self.?capacity.?resources.orValue([]).size() > 0",fieldPath=".hard",message="names no resource: set hard, or the names that follow the nodes in capacity.resources"
type FederatedQuotaSpec struct {
	// hard is the budget per resource name, as in a ResourceQuota: the most that all selected clusters may use together.
	// It may be left out where capacity.resources names what is limited.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",messageExpression="self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0] + ': ' + string(self[self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0]]) + ' is negative: must be 0 or more'"
	// +kubebuilder:validation:XValidation:rule="['pods', 'services', 'services.nodeports', 'services.loadbalancers', 'replicationcontrollers', 'resourcequotas', 'secrets', 'configmaps', 'persistentvolumeclaims'].all(name, !(name in self) || type(self[name]) == int || !self[name].matches('[.]0*[1-9]+$'))",message="counts of objects, such as pods and services, must be whole numbers"
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// scopes restrict what is counted, as in a ResourceQuota.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=Terminating;NotTerminating;BestEffort;NotBestEffort;PriorityClass;CrossNamespacePodAffinity;VolumeAttributesClass
	// +kubebuilder:validation:XValidation:rule="!('Terminating' in self && 'NotTerminating' in self)",message="nothing matches both Terminating and NotTerminating: use one of them"
	// +kubebuilder:validation:XValidation:rule="!('BestEffort' in self && 'NotBestEffort' in self)",message="nothing matches both BestEffort and NotBestEffort: use one of them"
	Scopes []corev1.ResourceQuotaScope `json:"scopes,omitempty"`

	// scopeSelector restricts what is counted, as in a ResourceQuota.
	// +optional
	ScopeSelector *corev1.ScopeSelector `json:"scopeSelector,omitempty"`

	// reserve is the part of hard that is never handed out.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",messageExpression="self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0] + ': ' + string(self[self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0]]) + ' is negative: must be 0 or more'"
	Reserve map[corev1.ResourceName]resource.Quantity `json:"reserve,omitempty"`

	// capacity has the budget follow what the nodes of the selected clusters can run. With hard as well, the smaller
	// counts. Nodes that go lower the budget: what is in use goes on, and nobody is raised until that is paid.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`

	// pool is the QuotaPool that the budget is a part of: it is then no more than the pool gives of the resources that the
	// pool limits. The pool has to allow the namespace.
	// +optional
	Pool *PoolReference `json:"pool,omitempty"`

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

	// existingQuotas says what becomes of ResourceQuotas that the namespace has in a member beside the budget's own.
	// +optional
	ExistingQuotas ExistingQuotas `json:"existingQuotas,omitempty,omitzero"`

	// removal says what happens to a member's ResourceQuota when its cluster leaves or the FederatedQuota is deleted.
	// +optional
	Removal Removal `json:"removal,omitempty,omitzero"`
}

// ClusterName is the name of a Cluster API Cluster in the namespace that the hub manager watches. In its further
// namespaces it is NAMESPACE/NAME.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
type ClusterName string

// Placement selects Clusters: those that the selector matches and those that are named.
//
// +kubebuilder:validation:XValidation:rule="self.?namespaceTemplate.?labels.orValue({}).size() + self.?namespaceTemplate.?annotations.orValue({}).size() == 0 || self.?createNamespace.orValue(false)",message="namespaceTemplate is for namespaces that are created: set createNamespace to true, or leave it out"
// +kubebuilder:validation:XValidation:rule="!(self.?createNamespace.orValue(false) && self.?whereNamespaceExists.orValue(false))",message="createNamespace and whereNamespaceExists exclude each other: set one of them to true"
// +kubebuilder:validation:XValidation:rule="has(self.clusterSelector) || self.?clusters.orValue([]).size() > 0",message="placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"
type Placement struct {
	// clusterSelector selects Clusters by their labels. An empty selector selects every Cluster.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusters selects Clusters by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterName `json:"clusters,omitempty"`

	// createNamespace says whether the namespace is created in a member that does not have it. Defaults to false.
	// +optional
	CreateNamespace *bool `json:"createNamespace,omitempty"`

	// whereNamespaceExists says that a member without the namespace is no fault: it has nothing of the budget until it has
	// the namespace, and nobody is told of it. In mode Static its part is kept for it. Defaults to false.
	// +optional
	WhereNamespaceExists *bool `json:"whereNamespaceExists,omitempty"`

	// namespaceTemplate is what a namespace gets that createNamespace has created, such as labels that a policy of the
	// member demands. A namespace that exists stays as it is.
	// +optional
	NamespaceTemplate NamespaceTemplate `json:"namespaceTemplate,omitempty,omitzero"`
}

// NamespaceTemplate says what namespaces are created with.
type NamespaceTemplate struct {
	// labels of the namespace.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the namespace.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// WeightRule says where the weights of clusters come from.
//
// +kubebuilder:validation:Enum=Capacity;Equal;Static
type WeightRule string

const (
	// WeightsEqual gives every cluster the same weight.
	WeightsEqual WeightRule = "Equal"
	// WeightsCapacity takes for each resource name what the nodes of a cluster can run of it, 1 for names that nodes have
	// nothing of. A cluster that has not said what its nodes can run stands last in line.
	WeightsCapacity WeightRule = "Capacity"
	// WeightsStatic takes the weight of a cluster from the last rule that matches it and has one, else 1.
	WeightsStatic WeightRule = "Static"
)

// Distribution says how the budget is split.
type Distribution struct {
	// weights says where the weights of clusters come from. Defaults to Static.
	// +optional
	Weights WeightRule `json:"weights,omitempty"`

	// rules set weight, min, max and headroom for the clusters that they match. Each of them comes from the last rule that
	// matches the cluster and sets it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Rules []DistributionRule `json:"rules,omitempty"`

	// granularity is the step in which limits of a resource come, such as 4Gi of requests.memory where pods ask for that.
	// Nobody goes without what it needs for that: what is left of the budget beside whole steps serves whoever asks for
	// it. Defaults to a thousandth of cpu, and to 1 of everything else. Each min, max and headroom must be a multiple of
	// it.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] > 0 : !self[name].startsWith('-') && self[name] != '0')",message="must be more than 0"
	Granularity map[corev1.ResourceName]resource.Quantity `json:"granularity,omitempty"`
}

// DistributionRule sets weight, min, max and headroom for the clusters that it matches: those it names and those its
// selector matches; all of them if it has neither.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clusters) || self.clusters.size() > 0 || has(self.clusterSelector)",fieldPath=".clusters",message="an empty list would have the rule match every cluster: name clusters, or leave the field out"
type DistributionRule struct {
	// clusters are names of Clusters that the rule matches.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterName `json:"clusters,omitempty"`

	// clusterSelector matches Clusters by their labels.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	RuleTerms `json:",inline"`
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
type Rebalance struct {
	// mode says what limits follow. Defaults to Auto.
	// +optional
	Mode RebalanceMode `json:"mode,omitempty"`

	// headroomPercent is the room that each cluster, or child of a pool, is given beyond what it needs, in percent of its
	// need, as far as the budget goes. Defaults to 10. It only counts in mode Auto.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HeadroomPercent *int32 `json:"headroomPercent,omitempty"`

	// dampingSeconds is the least time between two moves of a cluster's limit, or of a child's part of a pool, that serve
	// headroom alone. What somebody
	// needs moves at once. Defaults to 60 where requests may be held, since who has no headroom waits a moment then and is
	// not refused, and to 5 with admission Off. It only counts in mode Auto.
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
type Admission struct {
	// mode says what happens to a request that does not fit. Defaults to Hold. It only counts in mode Auto: with Static no
	// request is held.
	// +optional
	Mode AdmissionMode `json:"mode,omitempty"`

	// waitMilliseconds is how long a request may be held for a raise. Its answer comes a moment later, since the API
	// server is asked first whether it judges by the raise, or what is used. API servers go on without an answer after the
	// longest waitMilliseconds of the cluster, rounded up to whole seconds, and 2 seconds more. Defaults to 500. It only
	// counts in mode Auto.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	WaitMilliseconds *int32 `json:"waitMilliseconds,omitempty"`

	// poke says whether workloads that were refused are woken after a raise, rather than sleeping on in back-off.
	// Defaults to Enabled.
	// +optional
	Poke PokeMode `json:"poke,omitempty"`
}

// QuotaName is the name of a ResourceQuota.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type QuotaName string

// ExistingQuotas says what becomes of ResourceQuotas that fedquota has not made.
type ExistingQuotas struct {
	// accepted names ResourceQuotas of the namespace that may stay beside the budget's own, such as one that a platform
	// makes in every namespace: the condition ForeignQuota does not speak of them. They go on refusing requests by
	// themselves.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Accepted []QuotaName `json:"accepted,omitempty"`

	// whenToTakeOver says when a ResourceQuota of the budget's name that a member has already becomes the budget's own.
	// It is changed in place, and its limit counts at the hub before. Defaults to Never.
	// +optional
	WhenToTakeOver TakeOverPolicy `json:"whenToTakeOver,omitempty"`
}

// TakeOverPolicy says when a ResourceQuota that fedquota has not made becomes that of a budget.
//
// +kubebuilder:validation:Enum=Never;IfNoDiff;Always
type TakeOverPolicy string

const (
	// TakeOverNever leaves it as it is. The cluster takes no part in the budget until it is gone.
	TakeOverNever TakeOverPolicy = "Never"
	// TakeOverIfNoDiff takes it over where that does not change its limits.
	TakeOverIfNoDiff TakeOverPolicy = "IfNoDiff"
	// TakeOverAlways takes it over whatever its limits are. The budget has to limit all names that it does.
	TakeOverAlways TakeOverPolicy = "Always"
)

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
type Removal struct {
	// policy says what becomes of the ResourceQuota in the member. Defaults to Retain.
	// +optional
	Policy RemovalPolicy `json:"policy,omitempty"`

	// destroyed names clusters that no longer exist: what was granted to them is free without their word. Naming a cluster
	// that still runs breaks the promise that the budget is never exceeded.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Destroyed []ClusterName `json:"destroyed,omitempty"`
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
