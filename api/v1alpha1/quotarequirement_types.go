package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuotaRequirement says what may only be consumed where a managed quota covers it: pods of a priority class or another
// scope, storage of a class, an extended resource. In every selected cluster a ValidatingAdmissionPolicy refuses it
// elsewhere. It is for a fleet what limitedResources in the admission configuration of an API server are for one
// cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=qreq,categories=fedquota
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every selected cluster enforces it"
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.enforced`,description="Clusters that enforce it / clusters selected"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.status!="True")].message`,description="Which clusters do not enforce it, and why"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name: may have at most 63 characters"
type QuotaRequirement struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what needs a quota, and where.
	// +required
	Spec QuotaRequirementSpec `json:"spec,omitzero"`

	// status says which clusters enforce it.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status QuotaRequirementStatus `json:"status,omitzero"`
}

// QuotaRequirementSpec says what needs a quota, and where.
//
// +kubebuilder:validation:XValidation:rule="self.?matchScopes.orValue([]).size() + self.?resources.orValue([]).size() > 0",message="nothing is required: set matchScopes (such as a priority class), resources (such as storage of a class), or both"
type QuotaRequirementSpec struct {
	// clusterSelector selects Clusters by their labels. An empty selector selects every Cluster.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && e.values.size() > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || e.values.size() == 0))",fieldPath=".matchExpressions",message="operator must be In or NotIn, with values, or Exists or DoesNotExist, without"
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// exemptNamespaces are the namespaces of members in which nothing needs a quota, beside the namespaces of Kubernetes
	// itself and of the agent, which are always exempt.
	// +optional
	ExemptNamespaces NamespaceSet `json:"exemptNamespaces,omitempty,omitzero"`

	// matchScopes are the scopes of which each object needs a quota: one in its namespace that has the same scope and
	// matches the object, as with matchScopes of limitedResources. An object that matches several needs a quota of each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchScopes []RequiredScope `json:"matchScopes,omitempty"`

	// resources are names that may only be consumed where a quota limits them: requests.DOMAIN/NAME for an extended
	// resource of pods, CLASS.storageclass.storage.k8s.io/requests.storage or
	// CLASS.storageclass.storage.k8s.io/persistentvolumeclaims for volume claims of a storage class.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Resources []RequiredResource `json:"resources,omitempty"`
}

// NamespaceSet are namespaces: those that are named and those that the selector matches.
type NamespaceSet struct {
	// names of namespaces.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Names []string `json:"names,omitempty"`

	// selector matches namespaces of a member by their labels there.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.?matchLabels.orValue({}).size() + self.?matchExpressions.orValue([]).size() > 0",message="an empty selector would exempt every namespace: set matchLabels or matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && e.values.size() > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || e.values.size() == 0))",fieldPath=".matchExpressions",message="operator must be In or NotIn, with values, or Exists or DoesNotExist, without"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// RequiredScope is a scope of objects that need a quota, in the words of a ResourceQuota's scopeSelector.
//
// +kubebuilder:validation:XValidation:rule="self.scopeName in ['PriorityClass', 'VolumeAttributesClass'] || self.operator == 'Exists'",message="operator must be Exists for a scope without classes"
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == (self.?values.orValue([]).size() > 0)",message="values are for the operators In and NotIn, which need one or more"
type RequiredScope struct {
	// scopeName is the scope. VolumeAttributesClass is one of volume claims, all others are scopes of pods.
	// +required
	// +kubebuilder:validation:Enum=Terminating;NotTerminating;BestEffort;NotBestEffort;PriorityClass;CrossNamespacePodAffinity;VolumeAttributesClass
	ScopeName corev1.ResourceQuotaScope `json:"scopeName,omitempty"`

	// operator says how the class of an object relates to values.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator corev1.ScopeSelectorOperator `json:"operator,omitempty"`

	// values are names of classes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Values []string `json:"values,omitempty"`
}

// RequiredResource is a resource name that may only be consumed where a quota limits it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:XValidation:rule="self.matches('^requests[.][a-z0-9]([-.a-z0-9]*[a-z0-9])?/[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$') || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?[.]storageclass[.]storage[.]k8s[.]io/(requests[.]storage|persistentvolumeclaims)$')",message="must be requests.DOMAIN/NAME (an extended resource), CLASS.storageclass.storage.k8s.io/requests.storage or CLASS.storageclass.storage.k8s.io/persistentvolumeclaims"
type RequiredResource string

// QuotaRequirementStatus says which clusters enforce a QuotaRequirement.
type QuotaRequirementStatus struct {
	// conditions of the QuotaRequirement: Ready always, Reconciling and Stalled while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the conditions speak of. It is -1 until the hub manager has
	// acted on the object first.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// enforced is how many of the selected clusters enforce it, as "enforcing/selected".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Enforced string `json:"enforced,omitempty"`

	// clusters has an entry for each cluster that is selected, or that may still enforce it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	Clusters []RequirementCluster `json:"clusters,omitempty"`
}

// RequirementState says whether a cluster enforces a QuotaRequirement.
//
// +kubebuilder:validation:Enum=Enforced;NotEnforced;Leaving
type RequirementState string

const (
	// RequirementEnforced means that the cluster has the policy of the present spec.
	RequirementEnforced RequirementState = "Enforced"
	// RequirementNotEnforced means that the policy of the present spec is not known to be in the cluster.
	RequirementNotEnforced RequirementState = "NotEnforced"
	// RequirementLeaving means that the cluster is not to enforce it any more, and may still do.
	RequirementLeaving RequirementState = "Leaving"
)

// RequirementCluster is a cluster and whether it enforces a QuotaRequirement.
//
// +structType=atomic
type RequirementCluster struct {
	// name of the Cluster.
	// +required
	Name ClusterName `json:"name,omitempty"`

	// state says whether the cluster enforces it.
	// +required
	State RequirementState `json:"state,omitempty"`

	// message says what keeps the cluster from its state.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// QuotaRequirementList is a list of QuotaRequirement.
//
// +kubebuilder:object:root=true
type QuotaRequirementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of QuotaRequirement.
	Items []QuotaRequirement `json:"items"`
}
