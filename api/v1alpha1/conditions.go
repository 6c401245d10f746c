package v1alpha1

// Conditions of a FederatedQuota. Ready is always present. The others are there only while they are true, and their
// messages name the clusters concerned; lastTransitionTime says since when.
const (
	// ConditionReady is the summary: True while the budget is kept and every selected member enforces a share of the
	// present spec, also while limits move. status.settled says how many members enforce their target.
	ConditionReady = "Ready"
	// ConditionReconciling is True while Ready is not, and nobody has to change the object for it to be (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while the object cannot be acted on until somebody changes it (kstatus).
	ConditionStalled = "Stalled"
	// ConditionUnreachable is True while a member cannot be read; what it was granted stays granted.
	ConditionUnreachable = "Unreachable"
	// ConditionDraining is True while a member uses more than its target; its limit follows its usage down.
	ConditionDraining = "Draining"
	// ConditionDebt is True while more is granted than the budget allows; nobody is raised until it is gone.
	ConditionDebt = "Debt"
	// ConditionStuckQuotaController is True while the quota controller of a member does not work; that member is frozen.
	ConditionStuckQuotaController = "StuckQuotaController"
	// ConditionForeignQuota is True while the namespace has a ResourceQuota in a member that the agent does not manage, and
	// that spec.existingQuotas does not accept. The budget is enforced all the same.
	ConditionForeignQuota = "ForeignQuota"
	// ConditionRebuilding is True while the ledger learns from a member what it may hold; no member is raised while that
	// may be anything.
	ConditionRebuilding = "Rebuilding"
	// ConditionMemberNotReady is True while a member cannot take its share: no namespace, a name that is taken, an unknown
	// resource, an agent that cannot write, or, after half a minute, one that does not act.
	ConditionMemberNotReady = "MemberNotReady"
	// ConditionKindNotServed is True while a member serves no kind that is counted under a name of the budget. All other
	// names go on, and this one is counted once the kind is there.
	ConditionKindNotServed = "KindNotServed"
	// ConditionUnknownCluster is True while the spec names a Cluster that does not exist.
	ConditionUnknownCluster = "UnknownCluster"
	// ConditionLedgerFull is True while the ledger has no room for a cluster that is selected, or that holds a share.
	ConditionLedgerFull = "LedgerFull"
	// ConditionBreakGlass is True while somebody has taken a managed ResourceQuota out of the agent's hands.
	ConditionBreakGlass = "BreakGlass"
)

// Conditions of a QuotaShare. Enforced is always present; StuckQuotaController, ForeignQuota and BreakGlass, named as
// on a FederatedQuota, Unguarded, ChargesRefused and NodesFull are there only while they are true.
const (
	// ConditionEnforced is True while the ResourceQuota has the share's revision in force.
	ConditionEnforced = "Enforced"
	// ConditionUnguarded is True while guard or fence is not in force in the member: nothing is enforced anew or reported.
	ConditionUnguarded = "Unguarded"
	// ConditionChargesRefused is True while something keeps the API server of the member from charging ResourceQuotas: it
	// refuses all that they count, and the message says what it answers.
	ConditionChargesRefused = "ChargesRefused"
	// ConditionNodesFull is True while demand is left out because pods like those that ask for more find no node: the
	// member gets no more headroom.
	ConditionNodesFull = "NodesFull"
)

// Reasons of conditions.
const (
	// ReasonSettling means that a first limit under the present spec is on its way to a member, or that members are about
	// to say what they hold.
	ReasonSettling = "Settling"
	// ReasonDegraded means that one or more members are held back; the other conditions say which and why.
	ReasonDegraded = "Degraded"
	// ReasonInvalidSpec means that the spec cannot be acted on; the message names field, value and what would be valid.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonConflict means that an older FederatedQuota of the namespace covers the same scope in the same cluster.
	ReasonConflict = "Conflict"
	// ReasonNoClusters means that the placement selects no Cluster.
	ReasonNoClusters = "NoClusters"
	// ReasonRemoving means that the object is being deleted and waits for members to confirm.
	ReasonRemoving = "Removing"
	// ReasonNotConnected means that the member cannot be read; the message says why.
	ReasonNotConnected = "NotConnected"
	// ReasonUsageAboveTarget means that more is in use than the target.
	ReasonUsageAboveTarget = "UsageAboveTarget"
	// ReasonGrantedAboveBudget means that the sum of what was granted is above the budget.
	ReasonGrantedAboveBudget = "GrantedAboveBudget"
	// ReasonUnread means that a member that may hold a share was not read yet.
	ReasonUnread = "Unread"
	// ReasonNotFound is used when the spec names an object that does not exist.
	ReasonNotFound = "NotFound"
	// ReasonTooManyClusters means that there are more clusters than the ledger has room for, those that leave included.
	ReasonTooManyClusters = "TooManyClusters"
	// ReasonLimitsMoved is that of an event, which says what moved, from, to and why.
	ReasonLimitsMoved = "LimitsMoved"
	// ReasonReleased is that of an event on a ResourceQuota that the agent has let go, with a limit of what is used.
	ReasonReleased = "Released"
	// ReasonSucceeded is that of an event on a QuotaShare whose ResourceQuota has taken the place of one that was released.
	ReasonSucceeded = "Succeeded"
	// ReasonReported means that a member reports the condition, or that the hub has found it there; the message says which
	// member, and the entries in status.clusters why.
	ReasonReported = "Reported"

	// ReasonAgentAbsent means that the agent of a member does not act on its share.
	ReasonAgentAbsent = "AgentAbsent"
	// ReasonMayHoldShare means that the ledger knows nobody, that the Cluster is marked, which another budget may have
	// done, and that the cluster is asked whether it holds a share.
	ReasonMayHoldShare = "MayHoldShare"
	// ReasonNamespaceMissing means that a member does not have the namespace.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonNamespaceRefused means that a member does not have the namespace, and that its API server refused to create it.
	ReasonNamespaceRefused = "NamespaceRefused"
	// ReasonForeignShare means that the share in a member counts something else, or has a revision that the hub has not
	// written.
	ReasonForeignShare = "ForeignShare"
	// ReasonRefused means that a member's API server refused the share, or the removal of it.
	ReasonRefused = "Refused"
	// ReasonNotAnswered means that a member's API server did not answer in time.
	ReasonNotAnswered = "NotAnswered"
	// ReasonDeliveryFailed means that a share could not be written, or removed, for another reason.
	ReasonDeliveryFailed = "DeliveryFailed"

	// ReasonEnforced means that the share's revision is in force, or that every member enforces a share.
	ReasonEnforced = "Enforced"
	// ReasonPending means that the ResourceQuota was written and is not in force yet.
	ReasonPending = "Pending"
	// ReasonWriteFailed means that the agent could not write the ResourceQuota, or not do with it what removal asks for;
	// the message says what the API server answered.
	ReasonWriteFailed = "WriteFailed"
	// ReasonStaleShare means that the share is older than the revision that the ResourceQuota enforces; it changes
	// nothing.
	ReasonStaleShare = "StaleShare"
	// ReasonNameTaken means that a ResourceQuota of the share's name exists that the agent does not manage, and does not
	// take over.
	ReasonNameTaken = "NameTaken"
	// ReasonNamespaceTerminating means that the namespace is being deleted in the member.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonKindNotServed means that the share is in force, and that the member serves no kind that is counted under a
	// name in hard: the name is counted once the kind is there.
	ReasonKindNotServed = "KindNotServed"
	// ReasonUnknownResource means that native quota never counts anything under a name in hard.
	ReasonUnknownResource = "UnknownResource"
	// ReasonCanaryNotSynced means that the quota controller did not follow a change to the canary ResourceQuota in time.
	ReasonCanaryNotSynced = "CanaryNotSynced"
	// ReasonPolicyNotInForce means that the API server did not refuse what guard or fence must refuse.
	ReasonPolicyNotInForce = "PolicyNotInForce"
	// ReasonChargeNotStored means that the API server of a member could not store what a request was charged, or that
	// something there stored it otherwise.
	ReasonChargeNotStored = "ChargeNotStored"
	// ReasonOtherQuotas means that the namespace has ResourceQuotas that the agent does not manage.
	ReasonOtherQuotas = "OtherQuotas"
	// ReasonUnschedulable means that pods have waited for a node in vain.
	ReasonUnschedulable = "Unschedulable"
	// ReasonInvalidDemand is that of an event on a suspended Job: the demand that it states is not understood.
	ReasonInvalidDemand = "InvalidDemand"
	// ReasonAnnotated means that the break-glass annotation is set.
	ReasonAnnotated = "Annotated"
)
