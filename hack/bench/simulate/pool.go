package simulate

import (
	"fmt"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
)

// node is a QuotaPool: it splits a budget over budgets below it, as internal/pool and internal/round decide.
type node struct {
	*fleet
	turns
	name     string
	revision int64                 // the ledger's counter
	entries  map[string]pool.Entry // of the ledger
	stored   map[string]pool.Entry // as children read them
	children []*place
	place    place
}

// place is what a budget is to the pool above it.
type place struct {
	above      *node // nil: there is none
	key        string
	membership pool.Membership
	wake       func() // has it make a round

	told    need       // as the pool knows it
	stored  pool.Child // as the pool knows it
	touched time.Duration
}

// need is what is used below a budget, and asked for.
type need struct {
	used, demand, alsoNeeded int64
	shapes                   []round.Shape
}

// all is what is needed together.
func (n *need) all() int64 { return n.used + n.demand + n.alsoNeeded }

// keeping is the need of children who use and ask for this, and need so much together.
func (n need) keeping(needs amount.List) need {
	n.alsoNeeded = pool.AlsoNeeded(needs, amount.List{resource: n.used}, amount.List{resource: n.demand})[resource]
	return n
}

// newNode makes a pool with all that is below it: so many children at each level.
func newNode(f *fleet, name string, above *node, levels []int, members []*member) *node {
	p := &node{fleet: f, turns: turns{round: -1}, name: name, revision: ledger.First}
	p.place = newPlace(above, name, func() { p.soon() })
	each := len(members) / levels[0]
	for i := range levels[0] {
		below, part := fmt.Sprintf("%s-%d", name, i), members[i*each:(i+1)*each]
		if len(levels) > 1 {
			p.children = append(p.children, &newNode(f, below, p, levels[1:], part).place)
			continue
		}
		h := newHub(f, part)
		h.place = newPlace(p, below, func() { h.soon(0) })
		p.children = append(p.children, &h.place)
		f.at(0, h.start)
	}
	f.at(0, p.periodic)
	return p
}

func newPlace(above *node, key string, wake func()) place {
	at := place{above: above, key: key, wake: wake, touched: -time.Hour}
	if above != nil {
		at.membership = at.membership.Announce(above.name, above.name, 1)
		at.stored = at.child(nil)
	}
	return at
}

// child is what a budget says of itself once a ledger is stored.
func (at *place) child(l *ledger.Ledger) pool.Child {
	granted := amount.List{resource: 0}
	if l != nil {
		granted[resource] = l.Granted(resource)
	}
	return pool.Child{Key: at.key, UID: at.key, Membership: at.membership, Granted: granted, Target: granted}
}

// takeUp takes up what the pool offers, and returns what the budget has then, which is no more than its own.
func (at *place) takeUp(own int64) amount.List {
	if at.above != nil {
		offer := pool.Offer{PoolUID: at.above.name, Entry: at.above.stored[at.key]}
		at.membership, _ = at.membership.TakeUp(at.key, offer)
	}
	budget := at.membership.Budget(amount.List{resource: own})
	if at.membership.Frozen() {
		budget[resource] = 0
	}
	return budget
}

// report tells the pool what is needed at once, and what is granted once that is stored. The pool has a round if more
// is lacking than it knew, if there is room to give to others, or if something else is granted.
func (at *place) report(f *fleet, l *ledger.Ledger, now need) {
	if at.above == nil {
		return
	}
	before := at.told
	if at.told = now; now.all() > l.Budget()[resource] && now.all() != before.all() ||
		now.used < before.used && at.above.short() {
		at.above.soon()
	}
	child := at.child(l)
	f.after(f.setup.Latencies.Ledger+f.setup.Latencies.Hear, func() {
		changed := child.Revision != at.stored.Revision || !child.Granted.Equal(at.stored.Granted)
		if at.stored = child; changed {
			at.above.soon()
		}
	})
}

// short says whether a child needs more than it has.
func (p *node) short() bool {
	for _, c := range p.children {
		if c.told.all() > p.entries[c.key].Target[resource] {
			return true
		}
	}
	return false
}

func (p *node) soon() { p.turns.soon(&p.clock, 0, p.decide) }

func (p *node) periodic() {
	p.soon()
	p.after(30*time.Second, p.periodic)
}

// decide is a round: one write of the ledger, which children hear of whose entry has changed.
func (p *node) decide() {
	of := pool.New(p.name, p.place.takeUp(p.setup.Budget), p.revision, 0, p.entries)
	for _, c := range p.children {
		of.Hear(&c.stored)
		of.Enter(&c.stored)
	}
	var steered round.Decision
	if !p.place.membership.Frozen() {
		steered = round.Steer(of.Ledger, p.steering())
	}
	p.revision, p.busy = of.Ledger.Revision(), p.now+p.setup.Latencies.Ledger
	decided := map[string]pool.Entry{}
	for _, c := range p.children {
		if e, entered := of.Entry(c.key); entered {
			decided[c.key] = e
		}
		if limit := steered.Limits[c.key][resource]; limit.Moves() {
			c.touched = p.now
		}
	}
	before := p.entries
	p.entries = decided
	p.after(p.setup.Latencies.Ledger, func() { p.stored = decided })
	for _, c := range p.children {
		if before[c.key].Revision != decided[c.key].Revision {
			p.after(p.setup.Latencies.Ledger+p.setup.Latencies.Hear, c.wake)
		}
	}
	p.place.report(p.fleet, of.Ledger, p.need().keeping(steered.Needs))
}

// steering is what the ledger is steered by.
func (p *node) steering() *round.Input {
	in := &round.Input{
		ID: p.name, Split: round.Split{Options: p.setup.Policy.Options},
	}
	for _, c := range p.children {
		demand, shapes := pool.WithAlsoNeeded(
			amount.List{resource: c.told.demand}, amount.List{resource: c.told.alsoNeeded}, c.told.shapes)
		in.Children = append(in.Children, round.Standing{
			Name: c.key, UID: c.key, Terms: round.Terms{Weight: 1}, CanRaise: true,
			Used: amount.List{resource: c.told.used}, Demand: demand, Shapes: shapes,
			DampedFor: max(0, pace.DampingOf(true)-(p.now-c.touched)),
		})
	}
	return in
}

// need is what the children need together.
func (p *node) need() need {
	var n need
	for _, c := range p.children {
		n.used, n.demand, n.shapes = n.used+c.told.used, n.demand+c.told.demand, append(n.shapes, c.told.shapes...)
	}
	return n
}
