package shares

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// Input is all that a round knows before it reads any child.
type Input struct {
	// ID is the UID of the budget. Together with the UIDs of children it decides ties.
	ID string
	// Key is the namespace and name of the budget, as "namespace/name", and of its share in each child.
	Key string
	// Budget is what may be distributed, by resource name. While the spec cannot be acted on it is what it was before.
	Budget amount.List
	// Reach is what the budget may come to be while its spec stays; nil means that it stays what it is.
	Reach amount.List
	// Bounded says of which names the budget would hold more, but for its pool or what nodes can run.
	Bounded map[corev1.ResourceName]round.Bound
	// Formats gives the format in which quantities of a resource name are written in messages.
	Formats corev1.ResourceList
	// Revision is the ledger's counter as it was stored: 0 if there is none, and may have been one that was lost.
	Revision int64
	// Fresh says that nobody was told anything of this budget yet, as far as whoever decides can know: it has watched
	// since before the budget was created, and has left the ledger as it is.
	Fresh bool
	// Epoch is where the counter goes on if another ledger was lost: see ledger.Epoch.
	Epoch int64
	// Restored says that the ledger was put back, or another one was of which it is a part: it is rebuilt, whatever its
	// children show. Of a ledger that was lost it says that markers may have been put back, too.
	Restored bool
	// SpecRevision is the first revision that may have been decided on this spec, 0 while nothing was. Ready says that the
	// last stored round has found every child to enforce a share of it.
	SpecRevision int64
	Ready        bool
	// Halted says why the spec cannot be acted on, or is empty. The ledger goes on following reports then, and decides
	// nothing.
	Halted Obstacle
	// Lagging says why the budget goes by what its pool gave last, and not by the pool that the spec names, or is empty.
	Lagging string
	// Removing says that the budget is being deleted.
	Removing bool
	// Split says how the budget is split.
	Split round.Split
	// Admission is what agents do for requests that do not fit, and Existing what becomes of ResourceQuotas that they have
	// not made.
	Admission quotav1alpha1.Admission
	Existing  quotav1alpha1.ExistingQuotas
	// Scattered says that a child without the namespace is no fault.
	Scattered bool
	// OutOfScope are the names that the pool limits, and of which the scopes count nothing.
	OutOfScope []string
	// Strangers say where the spec names children that do not exist.
	Strangers []string
	// Expected are the children of which it will soon be known whether they hold a share, or what it says. Nothing is
	// decided before: a ledger that was restored may not know of them.
	Expected []string
	// Children are all that exist, and all that have an entry in the ledger.
	Children []Child
}

// Child is one that takes part in the budget, or may.
type Child struct {
	Name string
	// UID is that of the object which has the name now, empty if there is none.
	UID string
	// Selected says whether the placement selects it, Destroyed whether the spec declares that it is destroyed.
	Selected, Destroyed bool
	// Marker is the revision that the marker on the object notes. 0: there is none, so that the child cannot hold a share.
	Marker int64
	// Holds says whether a look at its store has found a share of this budget.
	Holds bool
	// Terms are its weight and its bounds.
	Terms round.Terms
	// Room is what its nodes can run that no pod requests, and nodes that may still be added, by name of the budget. A
	// name without it is not bounded by nodes.
	Room amount.List
	// Growth is what nodes may still come for, and MostAllocatable what its nodes have with them, by name as nodes have
	// it; nil if no node may come, or nobody knows.
	Growth, MostAllocatable amount.List
	// Entry is its entry in the ledger as it was stored, nil if it has none.
	Entry *Entry

	// Live says whether its share has to be read from its API server rather than from a cache: Round.Children says so.
	Live bool
	// Reading is what reading it has given, and Past what is remembered of it, unless Round.Hear says otherwise.
	Reading Reading
	Past    Past
}

// Entry is what was stored of a child.
type Entry struct {
	ledger.Entry

	// UID is that of the object which the entry was granted to.
	UID string
	// State and Reason are those of the round that stored it.
	State  quotav1alpha1.ClusterState
	Reason string
	// Removal is what its share was told shall become of the ResourceQuota, if it was.
	Removal quotav1alpha1.RemovalPolicy
	// Used and Demand are what it reported last.
	Used, Demand amount.List
}

// ReplacedBy says whether the entry was granted to another object than the one that has the name now. An entry that was
// never written to was granted to none.
func (e *Entry) ReplacedBy(uid string) bool {
	return e != nil && (e.Revision > 0 || !e.Granted.IsZero()) && e.UID != "" && e.UID != uid
}

// Condition is one as an agent reports it, or a round finds it.
type Condition struct {
	Type            string
	True            bool
	Reason, Message string
}

// Obstacle is why a child cannot take its share, or a spec cannot be acted on. Decisions rest on the reason, people
// read the message.
type Obstacle struct{ Reason, Message string }

// LacksNamespace says whether the obstacle is that the namespace does not exist.
func (o Obstacle) LacksNamespace() bool {
	return o.Reason == quotav1alpha1.ReasonNamespaceMissing || o.Reason == quotav1alpha1.ReasonNamespaceRefused
}

// Reading is what reading a child has given.
type Reading struct {
	// Failure says why it could not be read, or is empty.
	Failure string
	// Share is nil if there is none.
	Share *Share
	// Orphan is what the ResourceQuota of a share tells that is gone, nil if there is none. It is looked for where there
	// is no share and the reading is live.
	Orphan *ledger.Share
	// Vacant says that its API server has answered and does not know of shares, and that no limit is in force without one.
	Vacant bool
	// HeldBack says why the child could not take its share in the last round, or is empty.
	HeldBack Obstacle
	// Watched says that a watch tells when what holds it back ends: nothing is written before, and nobody has to look.
	Watched bool
	// Trouble is what keeps its agent from running, in words, as far as it is known, or is empty.
	Trouble string
}

// Share is what the share of a child says.
type Share struct {
	// Owner is the UID of the object that it was written for.
	Owner string
	// Revision and Hard are what the child is told, Admission, Existing and Fleet what it is told beside that.
	Revision  int64
	Hard      amount.List
	Admission quotav1alpha1.Admission
	Existing  quotav1alpha1.ExistingQuotas
	Fleet     Fleet
	// MostAllocatable is what it is told that its nodes can come to have.
	MostAllocatable amount.List
	// Found is the ResourceQuota of the share's name that the agent has not made, nil if there is none. TakeOver is the
	// one that the agent was told it may take over.
	Found    *Found
	TakeOver *TakeOver
	// OtherScope says that it counts other objects than the budget does.
	OtherScope bool
	// Deleting says that it was deleted and waits for the agent. Removal is what it was told shall become of the
	// ResourceQuota, and ToldRemoval whether it was told anything of that.
	Deleting    bool
	Removal     quotav1alpha1.RemovalPolicy
	ToldRemoval bool
	// KeptBy are finalizers of others, which alone keep a share that was deleted: its agent has nothing left to do.
	KeptBy []string
	// Report is what the agent says is in force.
	Report ledger.Report
	// Behind says that the agent has not acted on the present spec, and Pinging that it has pinged the hub.
	Behind, Pinging bool
	// Said are the conditions that the agent reports, by type.
	Said map[string]Condition
	// Demand is what the child could use beyond what it uses, and Shapes split it by what one request asks for.
	Demand amount.List
	Shapes []round.Shape
	// Expected is what the next request is expected to ask for.
	Expected amount.List
	// Replacing is what it has given up to replace its own objects, and Unscheduled what pods use that no node has had
	// room for.
	Replacing, Unscheduled amount.List
}

// Found is a ResourceQuota that no agent has made: its limits, and what is used.
type Found struct {
	UID        string
	Hard, Used amount.List
}

// TakeOver is a ResourceQuota that may be taken over as long as its limits are no higher than these.
type TakeOver struct {
	UID  string
	Hard amount.List
}

// Fleet is what a refused team should know of the whole budget.
type Fleet struct {
	Budget, Used amount.List
	// Waiting are the children that ask for more than they have, at most as many as a message names.
	Waiting []string
}

// Past is what is remembered of a child from one round to the next. The zero value is that of a child of which nothing
// is remembered. It is no part of the protocol: it paces moves.
type Past struct {
	// Gave is how long ago its target went down last, by resource name, where it has not gone up since.
	Gave map[corev1.ResourceName]time.Duration
	// DampedFor is how long its limit must not move for headroom, since it was moved a moment ago.
	DampedFor time.Duration
	// Placed is what pods on nodes used when Child.Room was found out. What they use more since then takes of it. Nil
	// takes nothing.
	Placed amount.List
	// ToldMost is what its share was told last that its nodes can come to have. A share of an earlier version drops it.
	ToldMost amount.List
	// ToldFor is how long the usage that its share was told of will do.
	ToldFor time.Duration
	// ConfirmedFor is how long it is not given a new revision just to confirm it.
	ConfirmedFor time.Duration
	// StalledFor is how long nothing is written to it, since the last write was not answered in time.
	StalledFor time.Duration
	// IdleFor is how long its agent has not acted on the present share.
	IdleFor time.Duration
	// UnheardFor is how long raises have waited for what it uses, by resource name.
	UnheardFor map[corev1.ResourceName]time.Duration
}
