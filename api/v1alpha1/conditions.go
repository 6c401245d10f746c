package v1alpha1

// Conditions of a FederatedQuota. ConditionReady is always there. The others are there only while they are true, and
// lastTransitionTime says since when. Their messages name at most 5 clusters and count the others. A QuotaRequirement
// has ConditionReady, ConditionReconciling and ConditionStalled of these.
const (
	// ConditionReady is the summary: True while the budget is kept and every selected cluster enforces a share of the
	// present spec. Limits may be moving all the same, and a cluster may use more than its target: status.settled
	// counts the clusters that enforce their target.
	ConditionReady = "Ready"
	// ConditionReconciling is for tools that read kstatus, which then wait: it is True while Ready is not, and nobody
	// has to change the object. Its reason is ReasonSettling, ReasonDegraded, ReasonRemoving, ReasonNoClusters,
	// ReasonPoolPending or ReasonPoolNotFollowed.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is for tools that read kstatus, which then give up: it is True while nothing moves until
	// somebody changes something. Its reason is ReasonInvalidSpec or ReasonConflict.
	ConditionStalled = "Stalled"
	// ConditionUnreachable is True while the hub cannot read a cluster (ReasonNotConnected). What it was granted stays
	// granted. Repair the connection. If the cluster is gone, give it up: docs/tasks/remove-a-cluster.md.
	ConditionUnreachable = "Unreachable"
	// ConditionDraining is True while a cluster uses more than its target (ReasonUsageAboveTarget). Its limit follows
	// its usage down. Scale down there, or raise its weight or the budget.
	ConditionDraining = "Draining"
	// ConditionDebt is True while more is granted of a resource name than the budget allows (ReasonGrantedAboveBudget).
	// The hub raises no limit of that name. The message says which clusters hold most above their target, and how much.
	// Wait, scale down, or raise the budget.
	ConditionDebt = "Debt"
	// ConditionStuckQuotaController is True while the quota controller of a cluster does not work (ReasonReported). The
	// hub does not change that cluster. Repair its kube-controller-manager.
	ConditionStuckQuotaController = "StuckQuotaController"
	// ConditionForeignQuota is True while the namespace has a ResourceQuota in a cluster that the agent does not
	// manage, and that spec.existingQuotas does not accept (ReasonReported). The budget is enforced, and ConditionReady
	// stays True. Remove that ResourceQuota where it is made, or accept it: docs/tasks/troubleshoot.md#foreignquota.
	ConditionForeignQuota = "ForeignQuota"
	// ConditionRebuilding is True while the hub cannot read a cluster that it has not read yet, or the ledger was
	// restored (ReasonUnread). While that cluster may hold a share, the hub raises no limit, and granted is unknown. A
	// cluster that cannot hold a share, as where the budget is new, counts with zero, and the others do not wait for
	// it. Make the cluster reachable.
	ConditionRebuilding = "Rebuilding"
	// ConditionMemberNotReady is True while a cluster cannot take its share, or cannot enforce it, or its agent has not
	// acted for half a minute (ReasonReported). The message says why: docs/tasks/troubleshoot.md.
	ConditionMemberNotReady = "MemberNotReady"
	// ConditionKindNotServed is True while a cluster serves no kind that is counted under a name of the budget, as
	// count/widgets.example.com without the CRD (ReasonReported). ConditionReady stays True, and all other names go on.
	// The name is counted some minutes after the kind is there. Until then native quota refuses such objects.
	ConditionKindNotServed = "KindNotServed"
	// ConditionNameNotCounted is True while the pool of a FederatedQuota limits a resource of which its scopes count
	// nothing (ReasonOutOfScope), as services where they count pods that terminate. ConditionReady stays True, and nothing
	// of that name is limited by this FederatedQuota. Have another one, without these scopes, name the pool.
	ConditionNameNotCounted = "NameNotCounted"
	// ConditionChildNotReady is True on a QuotaPool while a child gets nothing more (ReasonReported), since its namespace
	// is not allowed, or it cannot act on its spec. What it has stays, and the others go on.
	ConditionChildNotReady = "ChildNotReady"
	// ConditionNamespaceLeftOut is True on a QuotaPool while a namespace that it has by spec.namespaces has no
	// FederatedQuota for it (ReasonReported). The message names it, says why, and what to do. The others go on.
	ConditionNamespaceLeftOut = "NamespaceLeftOut"
	// ConditionUnknownCluster is True while the spec names a Cluster that does not exist (ReasonNotFound). The other
	// clusters go on. Correct the name.
	ConditionUnknownCluster = "UnknownCluster"
	// ConditionLedgerFull is True while the ledger has no room for the clusters that the message names
	// (ReasonTooManyClusters), or on a QuotaPool for the children (ReasonTooManyChildren). It has room for 2000, those
	// that leave included. Select fewer, have some name another pool, or wait until others have left.
	ConditionLedgerFull = "LedgerFull"
	// ConditionScaleOutHeldBack is True while what is asked for needs more nodes, and spec.capacity.scaleOut can add none
	// (ReasonNoMachineFits, ReasonAtMaximum, ReasonAtCapacityQuota, ReasonNodesBringNothing or ReasonScaleRefused).
	// ConditionReady stays True. The message says what to do: docs/tasks/follow-the-fleet.md.
	ConditionScaleOutHeldBack = "ScaleOutHeldBack"
	// ConditionBreakGlass is True while somebody has taken a ResourceQuota out of the agent's hands (ReasonReported).
	// End it: docs/tasks/break-glass.md.
	ConditionBreakGlass = "BreakGlass"
)

// Conditions of a QuotaShare. ConditionEnforced is always there once the agent has seen the share. The others are there
// only while they are true. ConditionStuckQuotaController (ReasonCanaryNotSynced), ConditionForeignQuota
// (ReasonOtherQuotas) and ConditionBreakGlass (ReasonAnnotated) are named as on a FederatedQuota. A share cannot exist
// without its namespace: that one is missing is said on the FederatedQuota, as ConditionMemberNotReady.
const (
	// ConditionEnforced is True while the share's revision is in force in the ResourceQuota.
	ConditionEnforced = "Enforced"
	// ConditionUnguarded is True while guard or fence is not in force in the cluster (ReasonPolicyNotInForce). The
	// agent then enforces nothing new and reports nothing. See docs/tasks/troubleshoot.md#unguarded.
	ConditionUnguarded = "Unguarded"
	// ConditionChargesRefused is True while the API server of the cluster cannot store what it charges
	// (ReasonChargeNotStored). It then refuses all that ResourceQuotas count, even where there is room. The message
	// quotes its answer, which names the policy or webhook. Mend that: docs/tasks/troubleshoot.md#chargesrefused.
	ConditionChargesRefused = "ChargesRefused"
	// ConditionNodesFull is True while the agent leaves demand out of its report, because pods like it find no node
	// (ReasonUnschedulable). The hub gives the cluster no more headroom. Add nodes, or ask for less.
	ConditionNodesFull = "NodesFull"
)

// Reasons of Ready. A QuotaRequirement has all of these but ReasonConflict.
const (
	// ReasonEnforced means that every cluster enforces a share of this spec. Of ConditionEnforced of a QuotaShare: the
	// share's revision is in force.
	ReasonEnforced = "Enforced"
	// ReasonSettling means that a first limit under this spec is on its way to a cluster, or the hub manager has just
	// started and has not heard yet what clusters hold ("not heard yet"). The message names the clusters. Wait; if it
	// lasts: docs/tasks/troubleshoot.md.
	ReasonSettling = "Settling"
	// ReasonDegraded means that one or more clusters are held back. The other conditions say which and why.
	ReasonDegraded = "Degraded"
	// ReasonInvalidSpec means that the spec cannot be acted on. Limits stay as they are. The message names field, value
	// and what would be valid. Change that field.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonConflict means that an older FederatedQuota of the namespace covers the same scope in the same cluster.
	// Merge the two, or make their placements disjoint.
	ReasonConflict = "Conflict"
	// ReasonNoClusters means that the placement selects no Cluster yet. Clusters that it did select leave. One that
	// comes and matches gets its part. To select one that is here, label or name it.
	ReasonNoClusters = "NoClusters"
	// ReasonPoolPending means that the object waits for the QuotaPool that it names. What it has stays, and nothing is
	// raised. The message says what it waits for.
	ReasonPoolPending = "PoolPending"
	// ReasonPoolNotFollowed means that the object goes on with what its pool gave it last, since it cannot follow the
	// QuotaPool that it names: that one is not there, is being deleted, or limits more resources than there is room for.
	// The message says which it is. Limits go on moving within what it has. Correct spec.pool or spec.parent, or mend that
	// QuotaPool.
	ReasonPoolNotFollowed = "PoolNotFollowed"
	// ReasonRemoving means that the object is being deleted and waits for the clusters that the message names. Make
	// them reachable, or give them up: docs/tasks/remove-a-cluster.md.
	ReasonRemoving = "Removing"
)

// Reasons of other conditions of a FederatedQuota.
const (
	// ReasonNotConnected means that the hub cannot read the cluster. The message says why.
	ReasonNotConnected = "NotConnected"
	// ReasonUsageAboveTarget means that a cluster uses more than its target.
	ReasonUsageAboveTarget = "UsageAboveTarget"
	// ReasonGrantedAboveBudget means that the sum of what was granted is above the budget.
	ReasonGrantedAboveBudget = "GrantedAboveBudget"
	// ReasonUnread means that the hub has not read a cluster yet that may hold a share.
	ReasonUnread = "Unread"
	// ReasonNotFound means that the spec names an object that does not exist.
	ReasonNotFound = "NotFound"
	// ReasonTooManyClusters means that there are more clusters than the ledger has room for.
	ReasonTooManyClusters = "TooManyClusters"
	// ReasonTooManyChildren means that more children name a QuotaPool than its ledger has room for. What those have that
	// are left out counts, and they come in as others leave. The others go on.
	ReasonTooManyChildren = "TooManyChildren"
	// ReasonReported means that a cluster reports the condition, or the hub has found it there. The message says which
	// cluster, and the entries in status.clusters why.
	ReasonReported = "Reported"
)

// Reasons of status.scaleOut, and of ConditionScaleOutHeldBack.
const (
	// ReasonNothingAsked means that nothing is asked for which needs more nodes.
	ReasonNothingAsked = "NothingAsked"
	// ReasonLimitsRise means that the budget has room for one of the requests that are made, so limits have to rise before
	// nodes are added. If they have not a minute later, nodes are.
	ReasonLimitsRise = "LimitsRise"
	// ReasonScaledOut means that nodes were added. The message says how many, where, and what for.
	ReasonScaledOut = "ScaledOut"
	// ReasonWouldScaleOut means that nodes would be added, were it not for dryRun.
	ReasonWouldScaleOut = "WouldScaleOut"
	// ReasonNodesOnTheWay means that nodes are on their way, and no more are to be so at once.
	ReasonNodesOnTheWay = "NodesOnTheWay"
	// ReasonCoolingDown means that the last step was made a moment ago.
	ReasonCoolingDown = "CoolingDown"
	// ReasonNoMachineFits means that no MachineDeployment is selected, has opted in and may be scaled of which a machine
	// can run what is asked for.
	ReasonNoMachineFits = "NoMachineFits"
	// ReasonAtMaximum means that those MachineDeployments have as many machines as their bounds allow.
	ReasonAtMaximum = "AtMaximum"
	// ReasonAtCapacityQuota means that a CapacityQuota of the node autoscaler in the cluster leaves no room for a machine,
	// or that the hub cannot tell. The message names it, with what it allows and what is used.
	ReasonAtCapacityQuota = "AtCapacityQuota"
	// ReasonNodesBringNothing means that nodes have not come in time, or nothing of what was asked for runs on them. Their
	// MachineDeployment is left alone for a while, longer each time.
	ReasonNodesBringNothing = "NodesBringNothing"
	// ReasonScaleRefused means that the API server of the hub refused the scale. The message quotes it.
	ReasonScaleRefused = "ScaleRefused"
)

// Reasons of the state of a cluster, in status.clusters. A cluster that is NotReady has one of these, or a reason of
// its share's conditions. ReasonMayHoldShare is of a cluster that is Unread.
const (
	// ReasonAgentAbsent means that the agent of the cluster does not act on its share.
	ReasonAgentAbsent = "AgentAbsent"
	// ReasonMayHoldShare means that the ledger is new or was lost, and the hub knows nothing of the cluster but the
	// marker on its Cluster. Another budget may have set that. Once the hub has read the cluster, it leaves like any
	// other that is not selected if it holds a share of this budget. Else its entry goes, and the hub writes nothing
	// there.
	ReasonMayHoldShare = "MayHoldShare"
	// ReasonNamespaceNotAllowed means, of a child of a QuotaPool, that the pool does not allow its namespace.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonNamespaceMissing means that the cluster does not have the namespace.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonNamespaceRefused means that the cluster does not have the namespace, and its API server refused to create
	// it.
	ReasonNamespaceRefused = "NamespaceRefused"
	// ReasonForeignShare means that the share in the cluster counts something else, or has a revision that the hub has
	// not written.
	ReasonForeignShare = "ForeignShare"
	// ReasonRefused means that the API server of the cluster refused the share, or the removal of it.
	ReasonRefused = "Refused"
	// ReasonNotAnswered means that the API server of the cluster did not answer in time.
	ReasonNotAnswered = "NotAnswered"
	// ReasonDeliveryFailed means that the hub could not write or remove the share for another reason.
	ReasonDeliveryFailed = "DeliveryFailed"
)

// Reasons of conditions of a QuotaShare.
const (
	// ReasonPending means that the agent has written the limit, and it is not in force yet. Wait; if it lasts, look at
	// the quota controller.
	ReasonPending = "Pending"
	// ReasonWriteFailed means that the agent could not write the ResourceQuota, or could not do with it what
	// spec.removal.policy asks for, or that the API server has stored another limit than it wrote. The message says what
	// the API server answered, or what it has stored. Mend the policy, webhook or right in question.
	ReasonWriteFailed = "WriteFailed"
	// ReasonStaleShare means that the share is older than the revision that the ResourceQuota enforces. It changes
	// nothing, and the hub writes a newer one.
	ReasonStaleShare = "StaleShare"
	// ReasonNameTaken means that a ResourceQuota of the share's name exists that the agent does not manage, or that was
	// released at a later revision. Have the budget take it over (spec.existingQuotas.whenToTakeOver), delete it, or give
	// the FederatedQuota another name.
	ReasonNameTaken = "NameTaken"
	// ReasonNamespaceTerminating means that the namespace is being deleted in the cluster. Wait.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonKindNotServed means that the share is in force, and the cluster serves no kind that is counted under a name
	// in hard. The name is counted once the kind is there.
	ReasonKindNotServed = "KindNotServed"
	// ReasonOutOfScope means that the scopes of the budget count no objects under a name that its pool limits.
	ReasonOutOfScope = "OutOfScope"
	// ReasonUnknownResource means that native quota never counts anything under a name in hard. Correct the name.
	ReasonUnknownResource = "UnknownResource"
	// ReasonCanaryNotSynced means that the quota controller did not follow a change of the canary within 40 seconds.
	// Repair the kube-controller-manager.
	ReasonCanaryNotSynced = "CanaryNotSynced"
	// ReasonPolicyNotInForce means that the API server did not refuse what guard or fence must refuse.
	ReasonPolicyNotInForce = "PolicyNotInForce"
	// ReasonChargeNotStored means that the API server could not store what a request was charged, or something there
	// stored it otherwise.
	ReasonChargeNotStored = "ChargeNotStored"
	// ReasonOtherQuotas means that the namespace has the ResourceQuotas that the message names: the agent does not
	// manage them, and the budget does not accept them.
	ReasonOtherQuotas = "OtherQuotas"
	// ReasonUnschedulable means that pods have waited for a node in vain.
	ReasonUnschedulable = "Unschedulable"
	// ReasonAnnotated means that the break-glass annotation is set. The message quotes its value, the reason.
	ReasonAnnotated = "Annotated"
)
