package pace

import "time"

// What a user feels of the hub manager.
const (
	// RetryInterval is how soon the hub tries again what could not be done in a member.
	RetryInterval = 15 * time.Second
	// FirstReportWait is how long raises of a resource wait for a member that has not said yet what it uses of it. Its
	// agent may not be there, and a name that it does not count is never reported.
	FirstReportWait = 5 * time.Second
	// DonorPatience is how long the agent of a donor may take to act before other members are asked in its place.
	DonorPatience = 3 * time.Second
	// AgentPatience is how long an agent may take to act on a share before it counts as absent.
	AgentPatience = 30 * time.Second
	// StatusInterval is the least time between two writes of the status of a QuotaRequirement.
	StatusInterval = time.Second
	// ConfirmInterval is the least time between two times that a member is asked anew for a limit that it confirmed and
	// does not have. Something there may change each one.
	ConfirmInterval = 5 * time.Second
	// StallInterval is how long nothing is written to a member after a write that was not answered in time: a round waits
	// for each. It is also how soon a write is tried again that failed otherwise, and was not refused.
	StallInterval = 5 * time.Second
	// MemberTimeout is how long a member may take to be read, and to be written. A round waits for all members, and those
	// that are well wait for the round: one that is stalled must not hold up their raises.
	MemberTimeout = 3 * time.Second
	// UnreachableAfter is how long health probes may fail before a member counts as unreachable.
	UnreachableAfter = 20 * time.Second
	// FirstSilence is how long a member is not asked whose API server did not answer. It doubles each time, up to
	// MostSilence: a round waits for each answer, and so do all budgets that a round is due of.
	FirstSilence = 5 * time.Second
	MostSilence  = 30 * time.Second
	// Standstill is how long a hub manager may be silent before what it knows of the stores of members counts as old.
	// Meanwhile another one may have led, and the hub been restored to before that.
	Standstill = 3 * time.Second
	// LookInterval is how often the hub looks at the store of each member: 1,000 members make 200 reads of the metadata of
	// one share per second.
	LookInterval = 5 * time.Second
	// FirstLookInterval is how often the hub searches for stores that it has never looked at, for which raises wait.
	FirstLookInterval = 250 * time.Millisecond
	// GuardInterval is how often the hub looks whether the configuration of the agent's webhook is there, and
	// InstallInterval how often it looks at all manifests of the agent: 1,000 members make 100 and 400 reads of metadata
	// per second.
	GuardInterval   = 10 * time.Second
	InstallInterval = time.Minute
	// RightsInterval is how often the hub looks whether it may watch the namespaces of a member that misses one.
	RightsInterval = time.Minute
	// ProfilesInterval is how often the hub looks whether ClusterProfiles are served, until they are.
	ProfilesInterval = 15 * time.Second
	// ScaleOutInterval is how often the hub looks at MachineDeployments for a budget that needs nodes or waits for some.
	ScaleOutInterval = 10 * time.Second
	// LimitsRise is how long limits may take to rise to what a budget has room for, before nodes are added for that.
	LimitsRise = time.Minute
	// NodeReport is how long a node that Cluster API calls ready may take to be in what the hub knows of its cluster, and
	// NodeLanding how long what was asked for may take to run on it: a pod without a node is known by 30 seconds.
	NodeReport  = 10 * time.Second
	NodeLanding = time.Minute
	// NodeBackOff is how long a MachineDeployment is left alone whose nodes brought nothing. It doubles each time, up to
	// MostNodeBackOff.
	NodeBackOff     = 10 * time.Minute
	MostNodeBackOff = 4 * time.Hour
	// TokenLife is for how long the hub asks for a token of its account in a member, and TokenRetry how soon it asks again
	// after it got none: what reads takes the word of that long ago that the account is not there.
	TokenLife  = time.Hour
	TokenRetry = 10 * time.Second
	// EventPatience is how long a FederatedQuota may wait for clusters before an event tells of it.
	EventPatience = 5 * time.Second
	// MoveEventInterval is the least time between two events about limits that do not come to rest.
	MoveEventInterval = 10 * time.Second
	// Connecting is how long raises wait for the first connection to a Cluster, and Looking for the first look at what a
	// connected member holds, both since this hub manager leads.
	Connecting = 5 * time.Second
	Looking    = 30 * time.Second
	// atOnce is how many Clusters are connected in that time, and perCluster how much longer each one more may take.
	atOnce     = 100
	perCluster = 50 * time.Millisecond
	// A round over a budget reads all of its clusters, so what nobody waits for is put off by perShare for each share
	// beyond sharesAtOnce. A hub manager that acts on less than fewBudgets budgets counts as one that acts on so many.
	fewBudgets   = 50
	sharesAtOnce = fewBudgets * atOnce
	perShare     = perCluster / fewBudgets
)

// RoundInterval returns how often the hub looks at a budget over that many clusters, one of that many budgets, although
// nothing was reported: what a watch has missed is found then.
func RoundInterval(clusters, budgets int) time.Duration {
	return 30*time.Second + 3*beyond(clusters, budgets)
}

// RoundRetryInterval returns how soon it looks at such a budget again while a member cannot be read, or could not take
// its share.
func RoundRetryInterval(clusters, budgets int) time.Duration {
	return RetryInterval + beyond(clusters, budgets)
}

// SnapshotInterval returns the least time between two writes of the status of such a budget that differ in usage alone.
func SnapshotInterval(clusters, budgets int) time.Duration {
	return 5*time.Second + beyond(clusters, budgets)
}

// PooledSnapshotInterval returns that of a budget which is in a pool: what it does not use any more is for others
// there, and its status is what tells them.
func PooledSnapshotInterval(clusters, budgets int) time.Duration {
	return 500*time.Millisecond + beyond(clusters, budgets)
}

// RetellInterval returns the least time between two writes of a share of such a budget that differ in the usage of the
// fleet alone: words for people, of which each one over many clusters is told with as many writes.
func RetellInterval(clusters, budgets int) time.Duration {
	return time.Second + 10*beyond(clusters, budgets)
}

// UsageDelay returns how long a round over such a budget may be put off that nothing but other usage calls for.
func UsageDelay(clusters, budgets int) time.Duration {
	return beyond(clusters, budgets)
}

// WholeLookInterval returns how often the hub looks at all shares of each of that many members, which hold so many,
// although a look at one shows nothing.
func WholeLookInterval(members, shares int) time.Duration {
	return time.Minute + 3*beyond(members, shares)
}

// ConnectingTo returns how long raises wait for the first connections to that many Clusters.
func ConnectingTo(clusters int) time.Duration {
	return Connecting + beyond(clusters, 0)
}

// LookingAt returns how long raises wait for the first looks at that many Clusters.
func LookingAt(clusters int) time.Duration {
	return Looking + beyond(clusters, 0)
}

// RenewInterval returns how often the hub renews its Lease in that many members. Each is a write.
func RenewInterval(clusters int) time.Duration {
	return (5*time.Second + beyond(clusters, 0)/3).Truncate(time.Second)
}

// LeaseDuration returns how long a member takes the hub to be there without a renewal: one may be lost, and the next
// one late.
func LeaseDuration(clusters int) time.Duration { return 3 * RenewInterval(clusters) }

func beyond(clusters, budgets int) time.Duration {
	return time.Duration(max(0, clusters*max(fewBudgets, budgets)-sharesAtOnce)) * perShare
}

const (
	// RecordTick is how often the hub manager looks which records of budgets are to be written.
	RecordTick = 5 * time.Second
	// RecordPatience is how long the hub manager writes records as it ends.
	RecordPatience = 8 * time.Second
	// SweepInterval is how often records are removed that are too old.
	SweepInterval = 24 * time.Hour
)
