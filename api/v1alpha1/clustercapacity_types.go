package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterCapacity is what the nodes of a member can run. The agent keeps it in its own namespace, and the hub manager
// keeps the last one of each member beside the Cluster, under the name of that.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ccap,categories=fedquota
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.nodes`,description="Nodes that are ready and schedulable"
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.allocatable.cpu`,description="What pods on them may request together"
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.allocatable.memory`,description="What pods on them may request together"
// +kubebuilder:printcolumn:name="Unused CPU",type=string,JSONPath=`.unused.cpu`,description="What of it no pod requests"
// +kubebuilder:printcolumn:name="Growth",type=integer,JSONPath=`.growth.machines`,description="Machines that may still come"
// +kubebuilder:printcolumn:name="Reported",type=date,JSONPath=`.reportTime`,description="Time since it was found to be something else"
type ClusterCapacity struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// nodes is how many nodes are ready and schedulable.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Nodes *int32 `json:"nodes,omitempty"`

	// allocatable is the sum of what these nodes have for pods, by resource name as nodes have it.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Allocatable map[corev1.ResourceName]resource.Quantity `json:"allocatable,omitempty"`

	// unused is the part of allocatable that no pod requests. It follows changes of a twentieth of allocatable, or of a
	// quarter of itself.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Unused map[corev1.ResourceName]resource.Quantity `json:"unused,omitempty"`

	// growth is what nodes may still come to the cluster. The hub manager notes it in its copy: by the annotation
	// quota.fedquota.io/growth of the Cluster, or by its MachineDeployments and MachinePools. Without it, nobody knows.
	// +optional
	Growth *CapacityGrowth `json:"growth,omitempty"`

	// reportTime is when this was found to be something else than before.
	// +optional
	ReportTime *metav1.Time `json:"reportTime,omitempty"`
}

// CapacityGrowth is what nodes may still come to a cluster.
type CapacityGrowth struct {
	// machines is how many may still come, those among them that were asked for and are no ready nodes yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Machines *int32 `json:"machines,omitempty"`

	// resources are what they have for pods, by resource name as nodes have it; none if no node may come. A node that has
	// come less than 10 seconds ago may be one of them, and what it has is taken off.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=256
	Resources map[corev1.ResourceName]resource.Quantity `json:"resources,omitempty"`
}

// ClusterCapacityList is a list of ClusterCapacity.
//
// +kubebuilder:object:root=true
type ClusterCapacityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of ClusterCapacity.
	Items []ClusterCapacity `json:"items"`
}

// Capacity has a budget follow what the nodes of clusters can run.
type Capacity struct {
	// percent is how much of what the nodes can run is the budget. What hard says of a name bounds it further. Defaults to
	// 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Percent *int32 `json:"percent,omitempty"`

	// resources are the names of the budget that follow the nodes, such as requests.cpu, whether hard names them or not.
	// Defaults to those of hard that nodes have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Resources []ResourceName `json:"resources,omitempty"`

	// scaleOut has the hub manager add nodes where what is asked for does not fit into what the nodes can run. Nothing
	// ever removes nodes by it. It needs a hub manager that runs with --scale-out.
	// +optional
	ScaleOut *ScaleOut `json:"scaleOut,omitempty"`
}

// ScaleOut has the hub manager raise the replicas of MachineDeployments of Cluster API. It touches those alone that
// have the annotation quota.fedquota.io/scale-out and both bounds of Cluster API's autoscaler annotations.
type ScaleOut struct {
	// machineDeploymentSelector selects MachineDeployments by their labels, of Clusters whose nodes count for the budget.
	// An empty selector selects every one.
	// +required
	MachineDeploymentSelector *metav1.LabelSelector `json:"machineDeploymentSelector,omitempty"`

	// maxSurgeNodes is how many nodes of the selected MachineDeployments may be on their way at once. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSurgeNodes *int32 `json:"maxSurgeNodes,omitempty"`

	// cooldownSeconds is the least time between two steps. Defaults to 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	CooldownSeconds *int32 `json:"cooldownSeconds,omitempty"`

	// dryRun says that the status names each step, and nothing is scaled. Defaults to false.
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`
}

// ResourceName is the name of a resource, as a ResourceQuota has it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
type ResourceName string

// PoolCapacity has the budget of a QuotaPool follow what the nodes of clusters can run.
type PoolCapacity struct {
	Capacity `json:",inline"`

	// placement says whose nodes count.
	// +optional
	Placement CapacityPlacement `json:"placement,omitempty,omitzero"`
}

// CapacityPlacement selects Clusters: those that the selector matches and those that are named; all if it has neither.
type CapacityPlacement struct {
	// clusterSelector selects Clusters by their labels.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusters selects Clusters by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Clusters []ClusterName `json:"clusters,omitempty"`
}

// CapacityStatus is what the nodes of clusters can run, as a budget was made of it.
//
// +structType=atomic
type CapacityStatus struct {
	// summary says of how many nodes and clusters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Summary string `json:"summary,omitempty"`

	// allocatable is what all nodes together can run, of the resources that the budget names.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Allocatable map[corev1.ResourceName]resource.Quantity `json:"allocatable,omitempty"`

	// unreported are clusters that have not said yet what their nodes can run, and names of clusters that are not there:
	// they count for nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Unreported []ClusterName `json:"unreported,omitempty"`
}

// ScaleOutStatus says what the hub manager does to add nodes for a budget, or why nothing.
//
// It has one writer, as ClusterStatus has.
//
// +structType=atomic
type ScaleOutStatus struct {
	// reason says in one word what is done, or what keeps it from being done.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message says it in words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// onTheWay is how many nodes of the selected MachineDeployments are wanted and not there yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	OnTheWay *int32 `json:"onTheWay,omitempty"`

	// onTheWaySince is since when it is as many.
	// +optional
	OnTheWaySince *metav1.Time `json:"onTheWaySince,omitempty"`

	// lastStep is what was scaled last. It is stored before that is done.
	// +optional
	LastStep *ScaleOutStep `json:"lastStep,omitempty"`

	// failures are MachineDeployments whose last nodes have brought nothing: they are left alone for a while.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Failures []ScaleOutFailure `json:"failures,omitempty"`
}

// ScaleOutStep is one change of the replicas of a MachineDeployment.
//
// +structType=atomic
type ScaleOutStep struct {
	// machineDeployment is NAMESPACE/NAME.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=317
	MachineDeployment string `json:"machineDeployment,omitempty"`

	// cluster that its machines are nodes of.
	// +required
	Cluster ClusterName `json:"cluster,omitempty"`

	// from is how many replicas it had.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	From *int32 `json:"from,omitempty"`

	// to is how many replicas it was given.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	To *int32 `json:"to,omitempty"`

	// time of the step.
	// +required
	Time metav1.Time `json:"time,omitzero"`

	// running is what the budget's pods on nodes of the cluster had then: nodes that come and raise none of it have
	// brought nothing.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Running map[corev1.ResourceName]resource.Quantity `json:"running,omitempty"`

	// message says why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// outcome is what has become of it, once that is known: Landed (its nodes are there, and something runs on them or
	// nothing more is asked for), BroughtNothing, Undone (the MachineDeployment has fewer replicas by now).
	// +optional
	Outcome ScaleOutOutcome `json:"outcome,omitempty"`
}

// ScaleOutOutcome is what has become of a step.
//
// +kubebuilder:validation:Enum=Landed;BroughtNothing;Undone
type ScaleOutOutcome string

const (
	// ScaleOutLanded means that the nodes are there, and something runs on them or nothing more is asked for.
	ScaleOutLanded ScaleOutOutcome = "Landed"
	// ScaleOutBroughtNothing means that nodes have not come in time, or nothing of what was asked for runs on them.
	ScaleOutBroughtNothing ScaleOutOutcome = "BroughtNothing"
	// ScaleOutUndone means that the MachineDeployment has fewer replicas than it was given, is gone, or was paused or
	// deleted before its nodes had come.
	ScaleOutUndone ScaleOutOutcome = "Undone"
)

// ScaleOutFailure is a MachineDeployment whose last nodes have brought nothing.
//
// +structType=atomic
type ScaleOutFailure struct {
	// machineDeployment is NAMESPACE/NAME.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=317
	MachineDeployment string `json:"machineDeployment,omitempty"`

	// count is how many steps in a row have brought nothing.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count,omitempty"`

	// until is when the MachineDeployment may be scaled again.
	// +required
	Until metav1.Time `json:"until,omitzero"`
}
