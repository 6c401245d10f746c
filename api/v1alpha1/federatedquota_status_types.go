package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FederatedQuotaStatus says how the budget is split now, and what was used of it a moment ago.
type FederatedQuotaStatus struct {
	BudgetStatus `json:",inline"`

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
