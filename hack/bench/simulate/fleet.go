package simulate

import (
	"time"

	"github.com/fedquota/fedquota/internal/demand"
)

// fleet is a run.
type fleet struct {
	clock
	load    Load
	setup   Setup
	members []*member
	held    int64 // the sum of what members enforce
	used    int64 // the sum of what they use
	result  Result
}

// Run plays a load through a fleet.
func Run(load Load, setup Setup) Result {
	f := &fleet{load: load, setup: setup}
	if setup.Policy.Pooled {
		f.load, f.setup.Weights = pooled(load), nil
	}
	for range f.load.Members {
		f.members = append(f.members, &member{fleet: f, revision: -1, book: demand.NewBook()})
	}
	if len(f.setup.Policy.Tree) == 0 {
		newHub(f, f.members).start()
	} else {
		newNode(f, "root", nil, f.setup.Policy.Tree, f.members)
	}
	f.nextRequest(0)
	f.nextLevel(0)
	f.nextEnding(0)
	for _, d := range load.Deployments {
		f.startDeployment(d)
	}
	f.runUntil(setup.To)
	for _, m := range f.members {
		m.integrate()
		f.result.Used = append(f.result.Used, m.used)
	}
	return f.result
}

// pooled is the same load on one member.
func pooled(load Load) Load {
	pooled := Load{Members: 1, Requests: append([]Request(nil), load.Requests...)}
	for i := range pooled.Requests {
		pooled.Requests[i].Member = 0
	}
	wants := make([]int64, load.Members)
	var sum int64
	for _, l := range load.Levels {
		sum += l.Wants - wants[l.Member]
		wants[l.Member] = l.Wants
		pooled.Levels = append(pooled.Levels, Level{At: l.At, Wants: sum})
	}
	return pooled
}

// nextRequest schedules the requests from the i-th on. Those of one time come together.
func (f *fleet) nextRequest(i int) {
	if i == len(f.load.Requests) {
		return
	}
	at := f.load.Requests[i].At
	f.at(at, func() {
		for ; i < len(f.load.Requests) && f.load.Requests[i].At == at; i++ {
			r := &f.load.Requests[i]
			f.members[r.Member].arrive(r)
		}
		f.nextRequest(i)
	})
}

// nextLevel schedules the levels from the i-th on.
func (f *fleet) nextLevel(i int) {
	if i == len(f.load.Levels) {
		return
	}
	at := f.load.Levels[i].At
	f.at(at, func() {
		for ; i < len(f.load.Levels) && f.load.Levels[i].At == at; i++ {
			l := &f.load.Levels[i]
			f.members[l.Member].level(l.Wants)
		}
		f.nextLevel(i)
	})
}

// nextEnding schedules the endings from the i-th on.
func (f *fleet) nextEnding(i int) {
	if i == len(f.load.Endings) {
		return
	}
	e := &f.load.Endings[i]
	f.at(e.At, func() {
		f.members[e.Member].end(e.Size)
		f.nextEnding(i + 1)
	})
}

// counts says whether something at a time is measured.
func (f *fleet) counts(at time.Duration) bool { return at >= f.setup.From && at < f.setup.To }

// admitted counts a request that was admitted.
func (f *fleet) admitted(r *Request) {
	if !f.counts(r.At) {
		return
	}
	f.result.Requests++
	f.result.Admitted++
	f.result.WorkAsked += r.work()
	f.result.WorkDone += r.work()
	if f.now > r.At {
		f.result.Waits = append(f.result.Waits, f.now-r.At)
	}
}

// refused counts a request that was refused.
func (f *fleet) refused(r *Request) {
	if !f.counts(r.At) {
		return
	}
	f.result.Requests++
	f.result.WorkAsked += r.work()
	if f.used+r.Size <= f.setup.Budget {
		f.result.FalseDenials++
	}
}

// work is in units × seconds.
func (r *Request) work() float64 { return float64(r.Size) * r.Life.Seconds() }

// moved keeps the sums when what a member uses and enforces has changed.
func (f *fleet) moved(used, held int64) {
	f.used += used
	f.held += held
	f.result.Over = max(f.result.Over, f.held-f.setup.Budget)
}
