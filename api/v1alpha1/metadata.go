package v1alpha1

const (
	// ManagedLabel marks the ResourceQuota that the agent of a member manages; its value is "true". The guard policy lets
	// nobody but the agent set it, remove it, or change an object that has it.
	ManagedLabel = "quota.fedquota.io/managed"

	// RevisionAnnotation is set on a managed ResourceQuota: the revision of the share that its spec.hard enforces.
	RevisionAnnotation = "quota.fedquota.io/revision"

	// BreakGlassAnnotation on a managed ResourceQuota lets others than the agent change it. Its value is the reason, which
	// the agent reports. While it is there, the agent changes nothing, the hub does not raise that member, and others get
	// nothing of what it holds.
	BreakGlassAnnotation = "quota.fedquota.io/break-glass"

	// ReleasedAnnotation is set on a ResourceQuota that the agent no longer manages. Its value is the revision that was
	// enforced last. When a share of the same name and scopes comes back that is not older, the agent takes the
	// ResourceQuota over again.
	ReleasedAnnotation = "quota.fedquota.io/released"

	// NoteAnnotation is set on a ResourceQuota that the agent released: it says in words why its limit is what it is, and
	// how to lift it.
	NoteAnnotation = "quota.fedquota.io/note"

	// CoveredAnnotation is set by the agent on a Namespace of a member. It says what the managed ResourceQuotas count that
	// are in force there. The policy that the hub makes of QuotaRequirements reads it. Quotas are separated by "; ", and
	// each names its scopes and resources.
	CoveredAnnotation = "quota.fedquota.io/covered"

	// MemberAnnotation is set on a Cluster before the hub writes anything into that cluster. Its value is the revision of
	// a ledger at that time. The hub sets it again before a revision is 2^20 above it. A Cluster without it cannot hold a
	// share.
	MemberAnnotation = "quota.fedquota.io/member"

	// ClusterAnnotation is set on a QuotaShare by the hub: the UID of the Cluster object that the share was written for. A
	// Cluster that was deleted and created again is known by it.
	ClusterAnnotation = "quota.fedquota.io/cluster"

	// RemovalAnnotation is set on a QuotaShare by the hub: the RemovalPolicy that the agent follows when the share is
	// deleted. Without it the agent leaves the ResourceQuota as it is, still managed.
	RemovalAnnotation = "quota.fedquota.io/removal"

	// TakesOverLabel is set by the agent on a QuotaShare and on the ResourceQuota of its name while it makes that its own,
	// which it has not made. By it the policy fedquota-takeover finds what the hub has allowed.
	TakesOverLabel = "quota.fedquota.io/takes-over"

	// ToBeTakenOverAnnotation is set by the agent on a ResourceQuota that it has not made and is about to take over. A hub
	// that finds no share of its name counts with that.
	ToBeTakenOverAnnotation = "quota.fedquota.io/to-be-taken-over"

	// DestroyedAnnotation on a Cluster says, for all FederatedQuotas at once, that the cluster is destroyed and that what
	// was granted to it is free. Its value is the reason, which must not be empty. It does not count while the hub is
	// connected to the cluster.
	DestroyedAnnotation = "quota.fedquota.io/destroyed"

	// JoinLabel on a kubeconfig Secret has the hub make a Cluster of it, for a cluster that Cluster API did not make. Its
	// value is "true".
	JoinLabel = "quota.fedquota.io/join"

	// KeptLabel marks a FederatedQuota that the hub manager keeps for the QuotaPool that spec.pool names; its value is
	// "QuotaPool". Without it a FederatedQuota is a person's: who sets it hands that over to the pool that has the
	// namespace, and who removes it takes it into his own hands.
	KeptLabel = "quota.fedquota.io/kept-by"

	// PokedAnnotation is set by the agent on a ReplicaSet, StatefulSet, DaemonSet, ReplicationController or Job that was
	// refused and that there is room for now: its controller then tries again at once. Its value is when that was.
	PokedAnnotation = "quota.fedquota.io/poked"

	// DemandForAnnotation on a suspended Job states that the namespace wants room for the pods of the Job: they count as
	// demand although nothing asks for them. Its value is for how long since the Job was created, such as 30m, at most an
	// hour.
	DemandForAnnotation = "quota.fedquota.io/demand-for"

	// CapacityLabel on a node of a member says whether the node counts in what the cluster can run. Its value is "true"
	// for one that would not count by itself, as a node of a virtual kubelet or one of a control plane, and "false" for one
	// that is not there for what budgets are for.
	CapacityLabel = "quota.fedquota.io/capacity"

	// GrowthAnnotation on a Cluster says whether nodes may still come to the cluster. "none" says that none may: no budget
	// gives the cluster more room then than its nodes have. "any" says that they may come from elsewhere. It wins over
	// what the MachineDeployments and MachinePools of the Cluster say.
	GrowthAnnotation = "quota.fedquota.io/growth"

	// ScaleOutAnnotation on a MachineDeployment says that the hub manager may raise its replicas for budgets whose
	// capacity.scaleOut selects it. Its value is "true", or "unscheduled" if it may do so for pods that wait for a node,
	// too, since no autoscaler does.
	ScaleOutAnnotation = "quota.fedquota.io/scale-out"

	// CostAnnotation on a MachineDeployment says what one of its machines costs, in any unit, such as "0.42". Of several
	// MachineDeployments that can run what is asked for, the one is scaled that does so at the least cost. Those without
	// it come last.
	CostAnnotation = "quota.fedquota.io/cost"

	// CapacityName is the name of the ClusterCapacity that an agent keeps in its namespace.
	CapacityName = "member"

	// EchoAnnotation is never stored. The agent sets it on a managed ResourceQuota in a dry run, to ask whether the API
	// server judges by what is stored.
	EchoAnnotation = "quota.fedquota.io/echo"

	// HubFieldManager is the field manager that the hub states when it writes a QuotaShare. The share policy in members
	// refuses a write without it. It does not go by the user, since the hub and an administrator may be the same user.
	HubFieldManager = "fedquota-hub"

	// HubLease is the name of the Lease, in the namespace of a member's agent, that the hub renews while it is there. It
	// is not the one of the hub's own leader election: a hub may be a member as well.
	HubLease = "fedquota-hub-heartbeat"

	// Finalizer is set on a FederatedQuota until every member has confirmed what spec.removal asks for, on a QuotaShare
	// until the agent has done it, and on a QuotaRequirement until no member enforces it any more.
	Finalizer = "quota.fedquota.io/removal"
)
