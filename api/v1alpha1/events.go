package v1alpha1

// Events on a FederatedQuota. An event is written when the reason of ConditionReady changes, and when another condition
// appears or affects other clusters than before: its reason is the one of the condition, and its message begins with
// the type of another condition than ConditionReady. Waiting for less than 5 seconds (ReasonSettling) is no event. They
// are of the type Normal for the reasons ReasonEnforced, ReasonSettling and ReasonRemoving and for conditions that hold
// nobody back, such as ConditionForeignQuota, else Warning. These come besides.
const (
	// ReasonLimitsMoved says, once for each move, what limits have moved, from, to and why.
	ReasonLimitsMoved = "LimitsMoved"
)

// Events in a cluster. On a QuotaShare an event is written when the status or the reason of a condition changes, with
// the reason of the condition. It is of the type Normal for the reasons ReasonEnforced, ReasonPending and
// ReasonOtherQuotas, else Warning. These come besides.
const (
	// ReasonReleased says on a ResourceQuota that the agent has let it go, with a limit of what is used, and how to
	// lift that.
	ReasonReleased = "Released"
	// ReasonSucceeded says on a QuotaShare that its ResourceQuota has taken the place of a released one, which is
	// deleted.
	ReasonSucceeded = "Succeeded"
	// ReasonInvalidDemand says on a suspended Job why the demand that it states is not understood.
	ReasonInvalidDemand = "InvalidDemand"
	// ReasonWaitingForQuota says on a ReplicaSet, StatefulSet, DaemonSet, Job or ReplicationController that lacks pods how
	// long the last one was held before it was refused, and what is full. It comes once a minute at most, and ten times a
	// minute in a namespace. docs/tasks/why-was-my-request-refused.md says what to do.
	ReasonWaitingForQuota = "WaitingForQuota"
	// ReasonServed says on one of these, after ReasonWaitingForQuota, that it lacks no pod any more.
	ReasonServed = "Served"
)

// Events on a kubeconfig Secret or a ClusterProfile, on the hub.
const (
	// ReasonNotJoined says why the hub makes no Cluster of it.
	ReasonNotJoined = "NotJoined"
)

// Events on a Cluster, on the hub.
const (
	// ReasonInvalidGrowth says that the annotation quota.fedquota.io/growth is not understood: nodes do not bound what the
	// cluster is lent.
	ReasonInvalidGrowth = "InvalidGrowth"
)

// Events on a MachineDeployment or MachinePool, on the hub.
const (
	// ReasonInvalidNodeGroup says that its annotations for the cluster autoscaler are not understood: it is not known what
	// nodes may still come to its cluster.
	ReasonInvalidNodeGroup = "InvalidNodeGroup"
)
