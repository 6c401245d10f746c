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
	play(&f.clock, f.load.Requests, func(r *Request) time.Duration { return r.At }, func(r *Request) {
		f.members[r.Member].arrive(r)
	})
	play(&f.clock, f.load.Levels, func(l *Level) time.Duration { return l.At }, func(l *Level) {
		f.members[l.Member].level(l.Wants)
	})
	play(&f.clock, f.load.Endings, func(e *Ending) time.Duration { return e.At }, func(e *Ending) {
		f.members[e.Member].end(e.Size)
	})
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

// play schedules what happens, in the order of a list. What has one time happens together.
func play[T any](c *clock, list []T, at func(*T) time.Duration, happen func(*T)) {
	if len(list) == 0 {
		return
	}
	now := at(&list[0])
	c.at(now, func() {
		for len(list) > 0 && at(&list[0]) == now {
			happen(&list[0])
			list = list[1:]
		}
		play(c, list, at, happen)
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
