package pace

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// What a user feels of the agent.
const (
	// ReportInterval is the least time between two reports of a share that differ in usage alone.
	ReportInterval = time.Second
	// UrgentReportInterval is the least time between two reports of demand that there is no room for.
	UrgentReportInterval = 20 * time.Millisecond
	// CapacityInterval is the least time between two reports of what the nodes of a cluster can run, and NodeGrace how
	// long a node goes on to count whose kubelet is no longer ready: nodes come and go in storms.
	CapacityInterval = 5 * time.Second
	NodeGrace        = time.Minute
	// CapacityLookInterval is how long that report goes without a look at the most: nothing tells that somebody else has
	// changed or deleted it, which the hub would act upon.
	CapacityLookInterval = time.Minute
	// CanaryInterval is how often the agent looks whether the quota controller works, and CanaryTimeout how long that may
	// take to follow a change before it counts as stuck. Whenever a kind comes or goes the quota controller stands still
	// for up to 30 seconds if it cannot list one of them, and works afterwards.
	CanaryInterval = 15 * time.Second
	CanaryTimeout  = 40 * time.Second
	// EbbPatience is how long usage above a limit is given to fall before a release makes it the limit.
	EbbPatience = 10 * time.Second
	// PokeInterval is how long a workload that was woken has to make use of the room before it is woken again.
	PokeInterval = 5 * time.Second
	// ProgressPatience is how long a workload has to lack the same number of pods before they count as demand, unless one
	// of them was refused: one that is just being scaled lacks nothing.
	ProgressPatience = 2 * time.Second
	// RolloutPatience is how long a workload that replaces its own pods keeps the room of those that it lacks meanwhile.
	// It is as long as a Deployment may make no progress before that counts as a failure.
	RolloutPatience = 10 * time.Minute
	// UnschedulableAfter is how long a pod may wait for a node before the cluster counts as full for pods like it.
	UnschedulableAfter = 30 * time.Second
	// LongestStatement is how long after its creation a suspended Job may state demand.
	LongestStatement = time.Hour
	// FutileAfter is how long a workload may make nothing of room for its pods before it counts as one that room does not
	// help.
	FutileAfter = 15 * time.Second
	// UnseenFor is how long nobody may look at a workload before it is not known any more whether there was room all the
	// time. One that lacks pods is looked at every second.
	UnseenFor = 5 * time.Second
	// RecountInterval is how long after usage fell the agent counts pods and claims itself: the cache of the quota
	// controller has them by then. It is the least time between two such counts of a namespace, each of which reads them
	// from the API server.
	RecountInterval = 2 * time.Second
	// ShareLookInterval is how long a share goes without a look at the most: nothing tells of a status that somebody else
	// has written, which the hub would act upon.
	ShareLookInterval = time.Minute
	// Underway is how long a request that went on counts before its charge is seen: later it was refused elsewhere.
	Underway = time.Second
	// Drain is how long an agent serves its webhook after it was asked to end, until API servers are led to another
	// replica, and DrainMost how much longer it does so for requests that are under way: they are held for 5 seconds at
	// most.
	Drain     = 5 * time.Second
	DrainMost = 10 * time.Second
	// RepeatsMost is how often an object of one name is let through within RepeatWindow before requests for one more are
	// no demand: there is such an object already, or none can be stored. A StatefulSet makes a pod of the same name anew,
	// but seldom so often.
	RepeatsMost  = 3
	RepeatWindow = time.Minute
	// RepeatMemory is how long the API server is asked whether an object is there before one of a name that was let
	// through goes on: native quota has counted again by then.
	RepeatMemory = 10 * time.Minute
	// CatchUp is how long a request waits on at least after there came to be room, for API servers that see it later than
	// the one that is asked, and CatchUpMost how long it waits for the one that is asked.
	CatchUp     = 15 * time.Millisecond
	CatchUpMost = time.Second
	// EchoInterval is the pause before an API server that is behind is asked again.
	EchoInterval = 2 * time.Millisecond
	// LiveTimeout is how long a request waits for what the API server is asked about it.
	LiveTimeout = time.Second
	// ReviewPatience is how long a review may take to come.
	ReviewPatience = 5 * time.Second
	// HoldPause is how long no request is held for a share that was held for in vain.
	HoldPause = 5 * time.Second
)

// HoldOf returns how long a request that does not fit may be held for a share.
func HoldOf(admission quotav1alpha1.Admission) time.Duration {
	if wait := admission.WaitMilliseconds; wait != nil {
		return time.Duration(*wait) * time.Millisecond
	}
	return Hold
}
