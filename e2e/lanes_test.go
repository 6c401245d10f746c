//go:build e2e

package e2e_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// lanes are all that may happen.
func (c *chaos) lanes(t *testing.T, snapshot string) []lane {
	lanes := []lane{
		sharing(&c.acting, c.processes("hub manager", c.HubManager)), sharing(&c.acting, c.processes("second hub manager", c.spareHub(t))),
		sharing(&c.acting, c.stalls("API server of the hub", c.Hub.Process(fleet.APIServer))),
		sharing(&c.acting, c.stalls("etcd of the hub", c.Hub.Process(fleet.Etcd))),
		c.processes("second agent of east", c.spareAgent(t, east)), c.processes("second agent of west", c.spareAgent(t, west)),
		c.stalls("second API server of east", c.Member(east).Process(fleet.SecondAPIServer)),
		c.rollback(snapshot), c.losses(), c.recreation(), c.budgets(), sharing(&c.ruling, c.rules()), c.modes(),
	}
	for _, member := range c.names() {
		m := c.Member(member)
		lanes = append(lanes,
			c.processes("agent of "+member, c.Agents[member]),
			c.stalls("API server of "+member, m.Process(fleet.APIServer)),
			c.stalls("etcd of "+member, m.Process(fleet.Etcd)),
			c.quotaController(member, m.Process(fleet.ControllerManager)),
			c.network(member), c.labels(member), c.grades(member), c.shares(member), c.bursting(member), c.idling(member),
		)
	}
	// Whoever has left is free to do with the ResourceQuota what he wants, as north may.
	return append(lanes, sharing(&c.managed, c.administrators(east)), sharing(&c.managed, c.administrators(west)))
}

// processes kills (SIGKILL) or pauses (SIGSTOP) a process.
func (c *chaos) processes(name string, p *fleet.Process) lane {
	return lane{name: name, pause: 15 * time.Second, draw: func(r *rand.Rand) disturbance {
		if r.IntN(2) == 0 {
			return disturbance{kind: "kill", lasts: upTo(r, 4*time.Second),
				do: func(context.Context) error { return p.Kill() }, undo: p.Restart}
		}
		return c.stall(p, upTo(r, 8*time.Second))
	}}
}

// sharing has a lane hold a lock while a disturbance lasts, which another lane holds alone.
func sharing(lock *sync.RWMutex, l lane) lane {
	draw := l.draw
	l.draw = func(r *rand.Rand) disturbance {
		d := draw(r)
		do, undo := d.do, d.undo
		d.do = func(ctx context.Context) error {
			lock.RLock()
			return do(ctx)
		}
		d.undo = func(ctx context.Context) error {
			defer lock.RUnlock()
			if undo == nil {
				return nil
			}
			return undo(ctx)
		}
		return d
	}
	return l
}

// stalls pauses (SIGSTOP) a server, for a short time more often than for a long one.
func (c *chaos) stalls(name string, p *fleet.Process) lane {
	return lane{name: name, pause: 40 * time.Second, draw: func(r *rand.Rand) disturbance {
		return c.stall(p, oneOf(r, upTo(r, time.Second), upTo(r, 5*time.Second), upTo(r, c.duration/2)))
	}}
}

// stall pauses a process. One that ends by itself meanwhile, as managers do after a rollback, is none to pause.
func (c *chaos) stall(p *fleet.Process, lasts time.Duration) disturbance {
	return disturbance{kind: "pause", lasts: lasts,
		do:   func(ctx context.Context) error { return c.call(ctx, p.Pause) },
		undo: func(context.Context) error { return p.Resume() }}
}

// quotaController stops the controller manager of a member.
func (c *chaos) quotaController(member string, p *fleet.Process) lane {
	return lane{name: "controller manager of " + member, pause: 40 * time.Second, draw: func(r *rand.Rand) disturbance {
		return disturbance{kind: "stopped controllers", lasts: upTo(r, 15*time.Second),
			do: func(context.Context) error { return p.Kill() },
			// It gives up where its API server does not answer, and is started again as a kubelet does.
			undo: func(ctx context.Context) error { return await(ctx, p.Restart) }}
	}}
}

// network makes the way between hub and member bad, or ends it.
func (c *chaos) network(member string) lane {
	return lane{name: "network of " + member, pause: 25 * time.Second, draw: func(r *rand.Rand) disturbance {
		p, bad := c.proxies[member], badWays[r.IntN(len(badWays))]
		lasts := oneOf(r, upTo(r, 5*time.Second), upTo(r, c.duration/2))
		if r.IntN(4) == 0 {
			return disturbance{kind: "cut off", lasts: lasts,
				do:   func(context.Context) error { p.Stop(); return nil },
				undo: func(context.Context) error { return p.Start() }}
		}
		var mend func(context.Context) error
		return disturbance{kind: "bad network", where: bad.what, lasts: lasts,
			do: func(context.Context) (err error) {
				mend, err = p.poison(bad.kind, bad.stream, bad.attributes)
				return err
			},
			undo: func(ctx context.Context) error { return mend(ctx) }}
	}}
}

// rollback puts the etcd of the hub back to where it was before all faults, with a budget of 30 cpu then. It takes
// ledger and markers along; while the FederatedQuota is deleted no share is left either to tell of the revisions that
// were given.
func (c *chaos) rollback(snapshot string) lane {
	return lane{name: "data of the hub", pause: c.duration * 3 / 2, draw: func(*rand.Rand) disturbance {
		return disturbance{kind: "hub rolled back", lasts: c.duration, do: func(ctx context.Context) error {
			c.managed.Lock()
			defer c.managed.Unlock()
			c.acting.Lock()
			defer c.acting.Unlock()
			c.budget.Lock()
			defer c.budget.Unlock()
			c.renewed = true
			return c.observer.ChangeBudget(ctx, budget("30", "60"), func(ctx context.Context) error { return c.Hub.Restore(ctx, snapshot) })
		}}
	}}
}
