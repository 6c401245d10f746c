package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FederatedQuotaStatus says how the budget is split now, and what was used of it a moment ago.
type FederatedQuotaStatus struct {
	// conditions of the FederatedQuota.
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

	// settled is how many of the selected clusters enforce their target, as "settled/selected".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Settled string `json:"settled,omitempty"`

	// tightest are the two resources with the least room, as "name: used/budget", the tightest one first.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Tightest string `json:"tightest,omitempty"`

	// hard is the budget: what spec.hard and spec.capacity say, less spec.reserve, and no more than its pool gives.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// granted is the sum over all clusters of the most that each may be enforcing or using.
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

	// demandByShape splits demand by what one request asks for, small requests first, for the pool that the FederatedQuota
	// is in. It is left out of one that is in none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	DemandByShape []DemandShape `json:"demandByShape,omitempty"`

	// alsoNeeded is what clusters keep beyond what they use, before others of this budget are given what they ask for. A
	// FederatedQuota that is in a pool needs it beside demand, and has it said only of what is asked for.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	AlsoNeeded map[corev1.ResourceName]resource.Quantity `json:"alsoNeeded,omitempty"`

	// free is the part of the budget that no cluster holds: it can be given to any of them at once.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Free map[corev1.ResourceName]resource.Quantity `json:"free,omitempty"`

	// revision is the highest revision of any cluster.
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

	// pool is what the FederatedQuota is to its pool. It stays after the FederatedQuota has left, with the tenure alone.
	// +optional
	Pool *PoolMembership `json:"pool,omitempty"`

	// clusters are those that are selected, and those that may still have a limit of this budget.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// ClusterState sums up how a cluster stands to its budget.
//
// +kubebuilder:validation:Enum=Unread;Settled;Settling;Draining;Leaving;Unreachable;NotReady;Stuck;BreakGlass
type ClusterState string

const (
	// ClusterUnread means that the cluster was not read yet; granted is an assumption, zero if it cannot hold a share.
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

// ClusterStatus is what a cluster was granted, and what it last reported.
//
// It has one writer, and as an atomic struct it costs the API server a tenth less to remember who that is.
//
// +structType=atomic
type ClusterStatus struct {
	// name of the Cluster.
	// +required
	Name ClusterName `json:"name,omitempty"`

	// uid is that of the Cluster object that this was granted to. Another object of the same name is another cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// revision numbers what was decided for the cluster: a limit in force there carries the number of its decision. 0
	// while the cluster was never read.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// granted is the most that the cluster may be enforcing or using, as far as the hub can know. Names that left the
	// budget are in it until the cluster has dropped them.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
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

	// unscheduled is the part of used that is charged for pods which no node has had room for, or which a gate has held,
	// for 30 seconds.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Unscheduled map[corev1.ResourceName]resource.Quantity `json:"unscheduled,omitempty"`

	// removal is what a cluster that leaves was told to do with its ResourceQuota, once it was told.
	// +optional
	Removal RemovalPolicy `json:"removal,omitempty"`

	// state sums up how the cluster stands to the budget: Settled (it enforces its target), Settling (its target is on the
	// way), Draining (it uses more than its target, and its limit follows its usage down), Leaving (it is no longer
	// selected, and gives back what it holds as its usage falls), Unread (nobody knows yet what it holds), Unreachable,
	// NotReady (it cannot take a limit: see reason and message), Stuck (its quota controller does not work), BreakGlass
	// (somebody has taken its ResourceQuota out of the agent's hands).
	// +optional
	State ClusterState `json:"state,omitempty"`

	// since is when the cluster entered its state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// reason says in one word why the cluster is NotReady: what the hub found, or what its agent reports.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message says what holds the cluster back, if anything does.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}
