package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BudgetStatus is what the status of each budget says: of a FederatedQuota, which is split over clusters, and of a
// QuotaPool, which is split over its children.
type BudgetStatus struct {
	// conditions of the object.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the conditions speak of. It is -1 until the hub manager has
	// acted on the object first.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// settled is how many of the selected clusters enforce their target, as "settled/selected"; of a pool, how many of its
	// children keep to theirs.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Settled string `json:"settled,omitempty"`

	// tightest are the two resources with the least room, as "name: used/budget", the tightest one first.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Tightest string `json:"tightest,omitempty"`

	// hard is the budget: what spec.hard and spec.capacity say, less spec.reserve, and no more than the pool above gives.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// granted is the sum over all clusters, or children of a pool, of the most that each may be enforcing or using.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Granted map[corev1.ResourceName]resource.Quantity `json:"granted,omitempty"`

	// used is the sum of what clusters, or children of a pool, last reported as used.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// demand is the sum of what clusters, or children of a pool, could use beyond what they use.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Demand map[corev1.ResourceName]resource.Quantity `json:"demand,omitempty"`

	// demandByShape splits demand by what one request asks for, small requests first, for the pool above. It is left out
	// where there is none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	DemandByShape []DemandShape `json:"demandByShape,omitempty"`

	// alsoNeeded is what clusters, or children of a pool, keep beyond what they use, before others of this budget are
	// given what they ask for. A budget that is in a pool needs it beside demand, and has it said only of what is asked
	// for.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	AlsoNeeded map[corev1.ResourceName]resource.Quantity `json:"alsoNeeded,omitempty"`

	// free is the part of the budget that no cluster, or child of a pool, holds: it can be given to any of them at once.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Free map[corev1.ResourceName]resource.Quantity `json:"free,omitempty"`

	// revision is the highest revision of any cluster, or child of a pool.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// restored numbers the restores of the hub's store: the last one after which what is granted was learned anew. In a
	// tree of pools all have the number of the last one. 0 if none was noticed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Restored int64 `json:"restored,omitempty"`

	// specRevision is the first revision that may have been decided on the spec of observedGeneration. A cluster
	// enforces a limit of that spec once it enforces this revision, a later one, or the latest one of its own. 0 while
	// nothing was decided on it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	SpecRevision int64 `json:"specRevision,omitempty"`

	// capacity is what the budget was made from, where it follows the nodes of clusters.
	// +optional
	Capacity *CapacityStatus `json:"capacity,omitempty"`

	// scaleOut is what is done to add nodes, where spec.capacity.scaleOut asks for that.
	// +optional
	ScaleOut *ScaleOutStatus `json:"scaleOut,omitempty"`

	// pool is what the object is to the pool above it. It stays after the object has left, with the tenure alone.
	// +optional
	Pool *PoolMembership `json:"pool,omitempty"`
}

// RuleTerms are what a rule sets for the clusters, or children of a pool, that it matches.
type RuleTerms struct {
	// weight of each of those that match. One of weight 0 stands last in line: beyond its min it gets what all others
	// cannot take. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight *int32 `json:"weight,omitempty"`

	// min is guaranteed to each of those that match. Defaults to nothing.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Min map[corev1.ResourceName]resource.Quantity `json:"min,omitempty"`

	// lendable is the part of min that others may use while it is idle. It comes back as their usage ends. Defaults to
	// nothing; what is above min counts as all of it. It only counts in mode Auto.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Lendable map[corev1.ResourceName]resource.Quantity `json:"lendable,omitempty"`

	// max is the most that each of those that match may get. Defaults to no limit but that of the budget.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Max map[corev1.ResourceName]resource.Quantity `json:"max,omitempty"`

	// headroom is the room that each of those that match is given beyond what it uses and asks for, as far as the budget
	// has it free: whoever needs it takes it. It is for clients that create only what fits into the limit of their
	// cluster, and so never ask for more. Beside headroomPercent, the larger of the two counts. It only counts in mode
	// Auto.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Headroom map[corev1.ResourceName]resource.Quantity `json:"headroom,omitempty"`
}
