package scaleout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Input is what a step is decided on. Nothing writes into it.
type Input struct {
	Now time.Time
	// Percent of what nodes can run is the budget.
	Percent int64
	// Surge is how many nodes may be on their way at once, and Cooldown the least time between two steps.
	Surge    int64
	Cooldown time.Duration
	// DryRun says that nothing is to be scaled.
	DryRun bool
	Patience

	// Budget is what may be used now, by name of the budget, and Ceiling what might be used if there were any number of
	// nodes: a name that it does not have is not bounded otherwise. Follows are the names that follow the nodes. Used is
	// what is used, and Demand what could be used beyond that.
	Budget, Ceiling amount.List
	Follows         []corev1.ResourceName
	Used, Demand    amount.List
	// Clusters are those whose nodes count for the budget, in order.
	Clusters []Cluster
	// Groups are the MachineDeployments that are selected, in order.
	Groups []Group
	// State is what was stored last.
	State State
	// Waits says that pods wait for a node somewhere.
	Waits bool
	// ShortSince is since when what is asked for needs nodes; for long, if it is zero.
	ShortSince time.Time
}

// Patience is how long the hub manager waits for what has no signal of its own.
type Patience struct {
	// Report is how long a node that has come may take to be in what its cluster reports.
	Report time.Duration
	// Rise is how long limits may take to rise to what the budget has room for.
	Rise time.Duration
	// Arrival is how long a node may take to come, and Landing how long what was asked for may take to run on it.
	Arrival, Landing time.Duration
	// BackOff is how long a group is left alone whose nodes brought nothing. It doubles each time, up to MostBackOff.
	BackOff, MostBackOff time.Duration
}

// Cluster is what is asked for in a cluster.
type Cluster struct {
	Name string
	// Requests are what is asked for and does not fit, by shape.
	Requests []Requests
	// Stranded are pods that are there, have waited for a while, and that no node has room for, by shape.
	Stranded []Requests
	// Running is what the budget's pods on nodes use there, and Unscheduled what those use that no node has had room for,
	// by name of the budget.
	Running, Unscheduled amount.List
	// Quotas bound its nodes. Unread says why they are not known, in words, or is empty: then nothing is scaled there.
	Quotas []Quota
	Unread string
}

// Asks says whether anything is asked for that may need nodes.
func (c *Cluster) Asks() bool { return len(c.Requests)+len(c.Stranded) > 0 }

// Requests are so many requests that ask for the same.
type Requests struct {
	// Unit is what one of them asks for, by name of the budget.
	Unit  amount.List
	Count int64
}

// Group is a MachineDeployment.
type Group struct {
	// Key is NAMESPACE/NAME, and Cluster the one that its machines are nodes of.
	Key, Cluster string
	// Version is the resourceVersion that was read.
	Version string
	// Replicas are wanted, and Ready are there.
	Replicas, Ready int64
	// Room is how many may be added within its bounds.
	Room int64
	// Machine is what one of its machines can run, by resource name as nodes have it. Nothing is known if it is nil.
	Machine amount.List
	// Labels are those of its nodes that are known.
	Labels labels.Set
	// Cost of one machine; there is none unless Priced.
	Cost   float64
	Priced bool
	// Unscheduled says that it may be scaled for pods that are there, too.
	Unscheduled bool
	// Obstacle says why it may not be scaled, in words that follow its name, or is empty. Full says that it has all
	// machines that its bounds allow.
	Obstacle string
	Full     bool
	// Halted says that none of its machines comes for now, not even one that was asked for.
	Halted bool
}

// Version returns the resourceVersion of a group, "" if it is not there.
func (in *Input) Version(group string) string {
	for i := range in.Groups {
		if in.Groups[i].Key == group {
			return in.Groups[i].Version
		}
	}
	return ""
}

// Idle says whether nothing is asked for that may need nodes, and nothing is waited for.
func (in *Input) Idle() bool {
	waits := in.State.OnTheWay > 0 || in.State.Last != nil && in.State.Last.Outcome == "" || len(in.State.Failures) > 0
	told := in.State.Reason == quotav1alpha1.ReasonNothingAsked
	return told && !waits && !in.Waits && in.Demand.IsZero()
}

// cluster returns one by its name; nothing is asked for in one that is gone.
func (in *Input) cluster(name string) *Cluster {
	i := slices.IndexFunc(in.Clusters, func(c Cluster) bool { return c.Name == name })
	if i < 0 {
		return &Cluster{Name: name}
	}
	return &in.Clusters[i]
}

// onTheWay is how many nodes of the group are wanted and not there, and may come.
func (g *Group) onTheWay() int64 {
	if g.Halted {
		return 0
	}
	return g.missing()
}

// missing is how many nodes of the group are wanted and not there.
func (g *Group) missing() int64 { return max(0, g.Replicas-g.Ready) }

// Values of the annotation by which a MachineDeployment permits that it is scaled: for what is asked for alone, or for
// pods that are there, too.
const (
	PermitsAsked       = "true"
	PermitsUnscheduled = "unscheduled"
)

// Step is one change of the replicas of a group.
type Step struct {
	Group, Cluster string
	From, To       int64
	Time           time.Time
	// Running is what ran in the cluster then.
	Running amount.List
	// Why says it in words.
	Why string
	// Outcome says what has become of it.
	Outcome quotav1alpha1.ScaleOutOutcome
}

// Failure is a group whose last nodes have brought nothing.
type Failure struct {
	Group string
	Count int64
	Until time.Time
}

// State is what is stored of a budget.
type State struct {
	// Reason and Message say what is done, or why nothing.
	Reason, Message string
	// OnTheWay is how many nodes are, and Since since when it is as many.
	OnTheWay int64
	Since    time.Time
	Last     *Step
	Failures []Failure
}
