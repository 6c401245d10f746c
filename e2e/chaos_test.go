//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// callTimeout is how long an administrator waits for an API server: it may be the one that was paused.
const callTimeout = 5 * time.Second

// disturbance is something that is done to the system, and undone after a while.
type disturbance struct {
	// kind is what it is counted as, where says to whom it is done and how.
	kind, where string
	// lasts is how long it lasts, unless it is over at once.
	lasts time.Duration
	// do begins it. An error means that the fleet or the system is not as it has to be.
	do func(ctx context.Context) error
	// undo ends it, if there is something to end.
	undo func(ctx context.Context) error
}

// lane is disturbances that exclude each other: they come one after another. Those of different lanes overlap.
type lane struct {
	name string
	// pause is the longest time between two of them.
	pause time.Duration
	// draw draws the next one.
	draw func(r *rand.Rand) disturbance
}

// planned is a disturbance with its time.
type planned struct {
	disturbance
	at time.Duration
}

// plan draws what happens in a lane. It depends on nothing but the seed, the name of the lane, and the duration; a lane
// in three is left out, so that not every seed has everything.
func (l lane) plan(seed uint64, duration time.Duration) []planned {
	name := fnv.New64()
	_, _ = name.Write([]byte(l.name))
	r := rand.New(rand.NewPCG(seed, name.Sum64()))
	if r.IntN(3) == 0 {
		return nil
	}
	var list []planned
	for at := upTo(r, l.pause); at < duration; at += upTo(r, l.pause) {
		d := l.draw(r)
		d.lasts = min(d.lasts, duration-at)
		list = append(list, planned{disturbance: d, at: at})
		at += d.lasts
	}
	return list
}

// upTo draws a time up to a limit.
func upTo(r *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit)))
}

// oneOf draws one of several.
func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// chaos is a run of disturbances.
type chaos struct {
	*scenario
	seed     uint64
	duration time.Duration
	start    time.Time
	// writers are the load, by member.
	writers map[string]*storm

	// budget is held while the budget changes, and while the observer is told what is granted.
	budget sync.Mutex
	// renewed says whether the ledger is another one than at first; budget protects it.
	renewed bool
	// acting is held for writing while the hub is rolled back, which no hub manager that is stopped may miss.
	acting sync.RWMutex
	// managed is held for writing while the FederatedQuota is deleted, and members have their ResourceQuotas for
	// themselves.
	managed sync.RWMutex
	// ruling is held for writing while a new FederatedQuota takes members in, from which rules that cannot be would keep
	// it.
	ruling sync.RWMutex

	mutex  sync.Mutex
	events []string
	count  map[string]int
	errs   []error
}

// run does what the lanes plan, and returns when all is undone.
func (c *chaos) run(lanes []lane) {
	c.Helper()
	c.start = time.Now()
	ctx, cancel := context.WithCancel(c.Context())
	var watching, running sync.WaitGroup
	watching.Go(func() { c.tellGranted(ctx) })
	for _, l := range lanes {
		list := l.plan(c.seed, c.duration)
		running.Go(func() {
			for _, p := range list {
				c.perform(l.name, p)
			}
		})
	}
	running.Wait()
	cancel()
	watching.Wait()
	if err := errors.Join(c.errs...); err != nil {
		c.Error(err)
	}
}

// perform does and undoes something that is planned, as soon as its time has come.
func (c *chaos) perform(lane string, p planned) {
	ctx := context.WithoutCancel(c.Context())
	pause(ctx, time.Until(c.start.Add(p.at)))
	c.mutex.Lock()
	c.count[p.kind]++
	c.mutex.Unlock()
	c.note("%s: %s %s, for %s", lane, p.kind, p.where, p.lasts.Round(time.Millisecond))
	if err := p.do(ctx); err != nil {
		c.fail(fmt.Errorf("%s: %s %s: %w", lane, p.kind, p.where, err))
	}
	if p.undo == nil {
		return
	}
	pause(ctx, p.lasts)
	if err := p.undo(ctx); err != nil {
		c.fail(fmt.Errorf("%s: end of %s %s: %w", lane, p.kind, p.where, err))
	}
	c.note("%s: end of %s", lane, p.kind)
}

// note keeps what happened, with its time.
func (c *chaos) note(format string, args ...any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.events = append(c.events, fmt.Sprintf("%s +%.3fs ", time.Now().UTC().Format("15:04:05.000"), time.Since(c.start).Seconds())+fmt.Sprintf(format, args...))
}

func (c *chaos) fail(err error) {
	c.note("%v", err)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.errs = append(c.errs, err)
}

// call asks an API server for something that it may not be there to do: what was not done is noted.
func (c *chaos) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := do(ctx); err != nil {
		c.note("not done: %v", err)
	}
	return nil
}

// tellGranted tells the observer again and again what is granted after a cut, so that it allows no more than that.
func (c *chaos) tellGranted(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, 4*pollInterval)
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		_ = c.granted(calling) // whoever cannot be read now is read later
		cancel()
	}
}

// granted tells the observer what is granted of the names of which that is less than it allows. A ledger that is
// new, or was rolled back, says nothing until it has met the members, and one that is given up forgets what it hands
// over.
func (c *chaos) granted(ctx context.Context) error {
	c.budget.Lock()
	defer c.budget.Unlock()
	fq, err := c.federatedQuota(ctx)
	if err != nil || !fq.DeletionTimestamp.IsZero() {
		return err
	}
	if c.renewed {
		if err := c.aheadOf(ctx, fq); err != nil {
			return err
		}
	}
	less := corev1.ResourceList{}
	for _, r := range c.observer.Report().Resources {
		if granted, ok := fq.Status.Granted[r.Name]; ok && granted.Cmp(r.Ceiling) < 0 {
			less[r.Name] = granted
		}
	}
	if len(less) > 0 {
		c.observer.SetGranted(less, time.Now())
	}
	return nil
}

// summary says what was done, the most frequent first.
func (c *chaos) summary() string {
	kinds := slices.SortedFunc(maps.Keys(c.count), func(a, b string) int {
		return cmp.Or(c.count[b]-c.count[a], strings.Compare(a, b))
	})
	var parts []string
	total := 0
	for _, kind := range kinds {
		total += c.count[kind]
		parts = append(parts, fmt.Sprintf("%s %d", kind, c.count[kind]))
	}
	return fmt.Sprintf("%d faults and changes in %s, drawn from seed %d: %s", total, c.duration, c.seed, strings.Join(parts, ", "))
}
