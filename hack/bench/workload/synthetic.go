package workload

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
)

// Synthetic describes a load that is drawn.
type Synthetic struct {
	// Members share the load equally in the long run.
	Members int
	// Pods is how many would run on average if none were refused.
	Pods float64
	// Life is the mean life of a pod; lives are exponential.
	Life time.Duration
	// Sizes of pods, in the unit of the resource. All pods of one arrival have the same, each being as likely.
	Sizes []int64
	// Batch is the mean number of pods that arrive together, as when a workload is scaled up; it is geometric.
	Batch float64
	// Burst is how many times the mean rate a member has while it is busy, and Busy the part of the time that it is;
	// members are busy independently of each other. What is left arrives while the member is calm.
	Burst, Busy float64
	// BusyFor is the mean length of a busy time; it is exponential, as are the calm ones in between.
	BusyFor time.Duration
	// For is how long pods arrive.
	For time.Duration
	// Seed makes the draw repeatable.
	Seed int64
}

// Bursty is the load of the cells: 600 pods of 0.25 to 4 cpu on average, in units of a thousandth cpu, that live 600 s.
func Bursty(members int, seed int64) Synthetic {
	return Synthetic{
		Members: members,
		Pods:    600,
		Life:    600 * time.Second,
		Sizes:   []int64{250, 500, 1000, 2000, 4000},
		Batch:   4,
		Burst:   3,
		Busy:    .2,
		BusyFor: 900 * time.Second,
		For:     4 * time.Hour,
		Seed:    seed,
	}
}

// LiveWarmup is how long pods of a live load arrive before any is counted.
const LiveWarmup = 10 * time.Second

// Live is a load that can be played in real time: so many pods on average, which live sixty times shorter than in the
// cells. It lasts for a time after its warmup.
func Live(members int, pods float64, length time.Duration, seed int64) Synthetic {
	s := Bursty(members, seed)
	s.Pods, s.Life, s.BusyFor, s.For = pods, 10*time.Second, 15*time.Second, LiveWarmup+length
	return s
}

// String describes a live load.
func (s Synthetic) String() string {
	return fmt.Sprintf(
		"%g pods of .25 to 4 cpu on average over %d members, mean life %s, batches of %g on average, "+
			"%g times the mean rate in bursts of %s; %s of arrivals, the first %s not counted; seed %d",
		s.Pods, s.Members, s.Life, s.Batch, s.Burst, s.BusyFor, s.For, LiveWarmup, s.Seed,
	)
}

// BudgetOf returns the budget of which these requests of the draw would use the given part on average.
func (s Synthetic) BudgetOf(requests []simulate.Request, load float64) int64 {
	var work float64
	for _, request := range requests {
		work += float64(request.Size) * request.Life.Seconds()
	}
	return int64(work / s.For.Seconds() / load)
}

// Mean is what would be in use on average if nothing were refused, in the unit of the resource.
func (s Synthetic) Mean() float64 {
	var sum int64
	for _, size := range s.Sizes {
		sum += size
	}
	return s.Pods * float64(sum) / float64(len(s.Sizes))
}

// Load draws the load.
func (s Synthetic) Load() simulate.Load {
	load := simulate.Load{Members: s.Members}
	for i := range s.Members {
		d := draw{Synthetic: s, Rand: rand.New(rand.NewSource(s.Seed*1000 + int64(i))), member: i}
		d.phases()
		load.Requests = append(load.Requests, d.requests...)
	}
	slices.SortStableFunc(load.Requests, func(a, b simulate.Request) int { return cmp.Compare(a.At, b.At) })
	return load
}

// draw is the load of one member.
type draw struct {
	Synthetic
	*rand.Rand
	member   int
	requests []simulate.Request
}

// phases alternates busy and calm times.
func (d *draw) phases() {
	if d.Burst <= 1 {
		d.arrivals(0, d.For, 1)
		return
	}
	calmFor := time.Duration(float64(d.BusyFor) * (1 - d.Busy) / d.Busy)
	calm := (1 - d.Busy*d.Burst) / (1 - d.Busy)
	busy := d.Float64() < d.Busy
	for from := time.Duration(0); from < d.For; busy = !busy {
		length, rate := calmFor, calm
		if busy {
			length, rate = d.BusyFor, d.Burst
		}
		to := min(from+d.exponential(length), d.For)
		d.arrivals(from, to, rate)
		from = to
	}
}

// arrivals draws the batches of one phase, at so many times the mean rate.
func (d *draw) arrivals(from, to time.Duration, rate float64) {
	if rate <= 0 {
		return
	}
	gap := time.Duration(float64(d.Life) * float64(d.Members) * d.Batch / d.Pods / rate)
	for at := from + d.exponential(gap); at < to; at += d.exponential(gap) {
		size := d.Sizes[d.Intn(len(d.Sizes))]
		for more := true; more; more = d.Float64()*d.Batch >= 1 {
			d.requests = append(d.requests, simulate.Request{
				At: at, Member: d.member, Size: size, Life: d.exponential(d.Life),
			})
		}
	}
}

func (d *draw) exponential(mean time.Duration) time.Duration {
	return time.Duration(d.ExpFloat64() * float64(mean))
}
