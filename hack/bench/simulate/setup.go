package simulate

import (
	"time"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/pace"
)

// Latencies are what the steps of the protocol take. They are the same for every policy.
type Latencies struct {
	// Report is the way from a change in a member to the hub's knowledge of it: the agent's write and the hub's watch.
	Report time.Duration
	// Gather is how long the hub waits after demand was reported, so that one round serves what came together.
	Gather time.Duration
	// Confirm is how long the hub waits after a confirmation that somebody waits for, for the same purpose.
	Confirm time.Duration
	// Ledger is the write of the ledger, before which no share is delivered.
	Ledger time.Duration
	// Deliver is the way from the ledger's write to the limit in force in a member: the write of the share and the agent's
	// of the quota.
	Deliver time.Duration
	// Hear is the way from the ledger's write to a round of a pool above, or of a budget below: the hub's watch. What a
	// budget needs its pool is told without a write.
	Hear time.Duration
	// Coalesce is the least time between two reports that unblock nobody.
	Coalesce time.Duration
}

// Default are the latencies that the benchmarks use. Together they make 95 ms from a request that does not fit to the
// raised limit out of free budget, and 145 ms with a donor in between.
var Default = Latencies{
	Report:   20 * time.Millisecond,
	Gather:   50 * time.Millisecond,
	Confirm:  5 * time.Millisecond,
	Ledger:   5 * time.Millisecond,
	Deliver:  20 * time.Millisecond,
	Hear:     5 * time.Millisecond,
	Coalesce: time.Second,
}

// Times returns the latencies of a machine that is so many times slower. Coalesce is no work, and stays.
func (l Latencies) Times(n int64) Latencies {
	for _, step := range []*time.Duration{&l.Report, &l.Gather, &l.Confirm, &l.Ledger, &l.Deliver, &l.Hear} {
		*step = time.Duration(step.Nanoseconds() * n)
	}
	return l
}

// Policy is a way to share the budget.
type Policy struct {
	// Name is what the tables call it.
	Name string
	// Pooled means one quota over all members, without any split.
	Pooled bool
	// Static means allocate.Static: a split by weight that does not move.
	Static bool
	// Tree has the members be those of several budgets in a tree of pools: so many children at each level, from the root
	// on. Each budget is over as many members, one after the other. None is a single budget without a pool.
	Tree []int
	// Every is the period of the rounds.
	Every time.Duration
	// Events means that demand triggers a round, too.
	Events bool
	// Hold is how long a request that does not fit waits for a raise before native quota judges it.
	Hold time.Duration
	// Respites is how long members that were lowered keep their respite.
	Respites pace.RespiteTimes
	// Damp is how long a member is damped after its limit was moved.
	Damp time.Duration
	// Options are those of allocate.Auto.
	Options allocate.Options
}

// FirstRetry is how long the controller of a workload waits after the first refusal.
const FirstRetry = 5 * time.Millisecond

// Request asks for room; when it is admitted, it gives the room back after its life.
type Request struct {
	At     time.Duration
	Member int
	Size   int64
	Life   time.Duration
}

// Level says what a member could use from now on, in a load that is not made of requests: it uses as much of it as
// its limit allows, and asks for the rest until it has it or the level falls.
type Level struct {
	At     time.Duration
	Member int
	Wants  int64
}

// Ending says that so much of a level ends, as pods that somebody deletes. It is used again at once, as far as the
// limit allows.
type Ending struct {
	At     time.Duration
	Member int
	Size   int64
}

// Load is what happens to a fleet, all lists in the order of time.
type Load struct {
	Members     int
	Requests    []Request
	Levels      []Level
	Endings     []Ending
	Deployments []Deployment
}

// Setup is all else that a run depends on.
type Setup struct {
	Policy    Policy
	Latencies Latencies
	// Budget is what the members share.
	Budget int64
	// Weights are those of the members; all are equal if there are none.
	Weights []int64
	// Patience is how long who was refused asks again, as the controller of ReplicaSets does: first after FirstRetry, and
	// then after twice the last wait. None is once.
	Patience time.Duration
	// From and To bound what is measured: requests made in between, and writes and pending demand.
	From, To time.Duration
}

// Result is what came of a load.
type Result struct {
	// Requests were made, Admitted were admitted, each at its first attempt where nobody has patience.
	Requests, Admitted int
	// FalseDenials were refused although the budget had room.
	FalseDenials int
	// WorkAsked and WorkDone are size × life of the requests made and admitted, in units × seconds.
	WorkAsked, WorkDone float64
	// Writes are the shares that the hub delivered; Lowered of them lowered a limit, and Lifted raised one of a member
	// that had what it needs. The rest were for need.
	Writes, Lowered, Lifted int
	// Wanted and Pending are the levels and what was unmet of them, in units × seconds.
	Wanted, Pending float64
	// Waits are how long those waited that were admitted, and not at once.
	Waits []time.Duration
	// Over is the most that limits and usage together were above the budget: zero, if the protocol holds.
	Over int64
	// Used is what the members use at the end.
	Used []int64
	// Rounds are the decisions of the hub.
	Rounds int
}

// Within returns how many were admitted within a time of their first attempt.
func (r *Result) Within(d time.Duration) int {
	within := r.Admitted
	for _, wait := range r.Waits {
		if wait > d {
			within--
		}
	}
	return within
}

// Add adds the result of another run of the same setup.
func (r *Result) Add(other Result) {
	r.Requests += other.Requests
	r.Admitted += other.Admitted
	r.FalseDenials += other.FalseDenials
	r.WorkAsked += other.WorkAsked
	r.WorkDone += other.WorkDone
	r.Writes += other.Writes
	r.Lowered += other.Lowered
	r.Lifted += other.Lifted
	r.Wanted += other.Wanted
	r.Pending += other.Pending
	r.Waits = append(r.Waits, other.Waits...)
	r.Over = max(r.Over, other.Over)
	r.Rounds += other.Rounds
}
