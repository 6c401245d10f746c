package pool

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Entry is what the ledger of a pool knows of a child.
type Entry struct {
	ledger.Entry

	// UID and Tenure are those of the child that it was made for.
	UID    string
	Tenure int64
}

// Child is what was read of a child.
type Child struct {
	// Key is what the ledger calls it, and UID that of the object.
	Key, UID string
	// Membership is what it has stored of its pool.
	Membership
	// Unknown says that its own ledger was lost, and has not been rebuilt: it may have granted anything.
	Unknown bool
	// Granted is the sum over its own ledger, and Target what of it is known to be for it to have.
	Granted, Target amount.List
}

// Pool is the ledger of a pool over its children. Its zero value is not usable; call New.
type Pool struct {
	// Ledger holds their entries: whoever raises, lowers and restores does so there.
	Ledger *ledger.Ledger
	// Most is how many of them there is room for.
	Most int

	uid    string
	stands map[string]stand
	// beside are those that are counted without an entry.
	beside map[string]stand
	// came is what those had that were entered since it was read, beyond what was counted of them.
	came amount.List
}

// stand is whom an entry was made for.
type stand struct {
	uid    string
	tenure int64
}

// MostChildren is how many entries the schema of the status has room for.
const MostChildren = 2000

// New returns the pool of that uid. A name that is new in the budget may have been granted by any child without limit:
// it counts as unknown until the child has confirmed.
func New(uid string, budget amount.List, revision, epoch int64, entries map[string]Entry) *Pool {
	p := &Pool{
		uid: uid, stands: make(map[string]stand, len(entries)), beside: map[string]stand{}, came: amount.List{},
		Most: MostChildren,
	}
	known := make(map[string]ledger.Entry, len(entries))
	for key, e := range entries {
		p.stands[key] = stand{e.UID, e.Tenure}
		e.Granted = amount.Max(amount.List{}, e.Granted)
		for name := range budget {
			if _, capped := e.Target[name]; !capped {
				e.Granted[name] = ledger.Unknown
			}
		}
		known[key] = e.Entry
	}
	p.Ledger = ledger.New(budget, revision, known)
	p.Ledger.In(epoch)
	return p
}

// Keys returns the keys of those that have an entry, sorted.
func (p *Pool) Keys() []string { return slices.Sorted(maps.Keys(p.stands)) }

// Entry returns the entry of a child, and whether it has one.
func (p *Pool) Entry(key string) (Entry, bool) {
	s, ok := p.stands[key]
	e, _ := p.Ledger.Entry(key)
	return Entry{Entry: e, UID: s.uid, Tenure: s.tenure}, ok
}

// Knows says whether the entry of a child was made for what was read of it: for this object, in this tenure.
func (p *Pool) Knows(c *Child) bool {
	s, ok := p.stands[c.Key]
	return ok && p.holds(c) && s == stand{c.UID, c.Tenure}
}

// holds says whether a child stands in this pool, and not in one that had its name before.
func (p *Pool) holds(c *Child) bool { return c.Stands() && c.Membership.UID == p.uid }

// Confirms says whether a child has stored its present entry.
func (p *Pool) Confirms(c *Child) bool {
	return p.Knows(c) && c.Revision == p.Ledger.RevisionOf(c.Key)
}

// Settled says whether a child has stored its present entry, and has granted no more than that.
func (p *Pool) Settled(c *Child) bool {
	e, _ := p.Ledger.Entry(c.Key)
	return p.Confirms(c) && e.Target.Covers(e.Granted)
}

// Full says whether there is no room for one more entry.
func (p *Pool) Full() bool { return p.Ledger.Len() >= p.Most }

// Awaits says whether a child stands in this pool, and takes up nothing before it has an entry: it has announced
// itself, or has had no entry here and a floor that this ledger has passed.
func (p *Pool) Awaits(c *Child) bool {
	_, present := p.stands[c.Key]
	return p.holds(c) && (c.Revision == 0 || !present && c.Frozen() && c.Revision <= p.Ledger.Revision())
}

// CountBeside counts what a child has that awaits an entry for which there is no room, and says whether it does. Until
// it has one it raises nothing, so it comes to have no more.
func (p *Pool) CountBeside(c *Child) bool {
	if _, present := p.stands[c.Key]; present || !p.Full() || !p.Awaits(c) {
		return false
	}
	p.beside[c.Key] = stand{c.UID, c.Tenure}
	p.Ledger.CountBeside(p.granted(c))
	return true
}

// Counts says whether what a child has is counted here: it has an entry, or there is no room for one.
func (p *Pool) Counts(c *Child) bool {
	if s, present := p.stands[c.Key]; present {
		return s.uid == c.UID
	}
	s, counted := p.beside[c.Key]
	return counted && p.holds(c) && s == stand{c.UID, c.Tenure}
}

// Enter makes an entry for a child that awaits one, and says whether it did. Another object of that name has to go
// first: uids have no order, so what was read may be the older one. One that is counted anew is told to have no more
// than before, and needs no more room.
func (p *Pool) Enter(c *Child) bool {
	s, present := p.stands[c.Key]
	if !p.Awaits(c) || present && (s.uid != c.UID || s.tenure >= c.Tenure) || !present && p.Full() {
		return false
	}
	granted, target := p.granted(c), c.Target
	before, _ := p.Ledger.Entry(c.Key)
	if present {
		target = least(target, before.Target)
	}
	p.enter(c, granted, target)
	for name := range p.Ledger.Budget() {
		if granted[name] > before.Granted[name] {
			p.came[name] = amount.Add(p.came[name], granted[name])
		}
	}
	return true
}

// Outgrows says whether those that were entered have taken the sum of this pool above what its own pool lets it have.
// It is to be counted anew there, in the write that stores their entries.
func (p *Pool) Outgrows(own Membership) bool {
	for name, came := range p.came {
		most, limited := own.Cap[name]
		if came > 0 && own.Stands() && (own.Frozen() || limited && p.Ledger.Granted(name) > most) {
			return true
		}
	}
	return false
}

// least returns the smaller amount of each name that both lists have.
func least(a, b amount.List) amount.List {
	smaller := amount.List{}
	for name, value := range a {
		if other, ok := b[name]; ok {
			smaller[name] = min(value, other)
		}
	}
	return smaller
}

// granted returns what a child has granted that awaits an entry, as far as that is known.
func (p *Pool) granted(c *Child) amount.List {
	if p.Unsure(c) {
		return p.unknown()
	}
	return c.Granted
}

// Unsure says whether a child that awaits an entry may hold anything: its ledger was rebuilt, or this one was since it
// has announced itself, and it may yet take up what the one before has offered.
func (p *Pool) Unsure(c *Child) bool { return c.unsure() || c.Outlives(p.Ledger.Revision()) }

func (c *Child) unsure() bool { return c.Unknown || c.Revision > 0 }

// Outlives says whether a ledger at a revision may have been rebuilt since the tenure began: that takes it to the epoch
// of then, which its own counting never does.
func (m Membership) Outlives(revision int64) bool {
	return revision >= ledger.Gap && m.Tenure <= revision
}

// unknown returns a list of which nobody knows what is granted.
func (p *Pool) unknown() amount.List {
	unknown := p.Ledger.Budget()
	for name := range unknown {
		unknown[name] = ledger.Unknown
	}
	return unknown
}

func (p *Pool) enter(c *Child, granted, target amount.List) {
	p.stands[c.Key] = stand{c.UID, c.Tenure}
	p.Ledger.Enter(c.Key, granted, target)
}

// Hear takes what a child shows into its entry: one that has confirmed it has no more than its target, or what its
// own ledger still has granted. One that has not may show more than was known, which is charged.
func (p *Pool) Hear(c *Child) {
	if p.Knows(c) {
		p.Ledger.Hear(c.Key, p.report(c))
	}
}

// report returns what a child reports of itself. One that has confirmed its entry limits all names of the pool.
func (p *Pool) report(c *Child) ledger.Report {
	granted := make(amount.List, len(c.Granted))
	for name := range p.Ledger.Budget() {
		value, listed := c.Granted[name]
		switch {
		case c.Unknown:
			granted[name] = ledger.Unknown
		case listed || p.Confirms(c):
			granted[name] = value
		}
	}
	return ledger.Report{Revision: c.Revision, Hard: granted, Used: granted}
}

// Left ends the entry of a child that was read in a later tenure, and in no pool, and says whether it did. One that
// stands in another pool has Moved, and one that stands here has been away: it is entered anew.
func (p *Pool) Left(c *Child) bool {
	if c.Stands() || !p.precedes(c) {
		return false
	}
	p.drop(c.Key)
	return true
}

// precedes says whether the entry of a child was made for an earlier tenure of it.
func (p *Pool) precedes(c *Child) bool {
	s, present := p.stands[c.Key]
	return present && s.uid == c.UID && s.tenure < c.Tenure
}

// Gone ends the entry of a child of which a live read, made after the pool was read, shows that there is none of its
// name, which is nil here, or another one, and says whether it did.
func (p *Pool) Gone(key string, found *Child) bool {
	s, present := p.stands[key]
	if !present || found != nil && found.UID == s.uid {
		return false
	}
	p.drop(key)
	return true
}

func (p *Pool) drop(key string) {
	delete(p.stands, key)
	p.Ledger.Gone(key)
}

// Lost says whether this ledger was lost, or put back: it has given no revision, or a child has stored one that it has
// not given. One that had no entry when it rebuilt its own ledger says nothing of this one. Where what was read of
// children may be old they are to be read live before anything is rebuilt.
func (p *Pool) Lost(children []Child) bool {
	return p.Ledger.Revision() == 0 || slices.ContainsFunc(children, func(c Child) bool {
		ahead := c.Revision > 0 && (!p.Knows(&c) || c.Revision > p.Ledger.RevisionOf(c.Key))
		return p.holds(&c) && ahead && !p.Awaits(&c)
	})
}

// Rebuild makes entries for the children that stand in the pool. They have to be listed live, after the pool was read:
// one that is missed may take up what the lost ledger decided. Each may have granted anything until it has confirmed a
// revision above all that the lost ledger can have given. Entries of others stay until it is known that they may go.
// Where there is no room for all, those that have taken something up come first: the others are frozen.
func (p *Pool) Rebuild(live []Child) {
	highest, before := p.Ledger.Revision(), make(map[string]ledger.Entry, len(p.stands))
	for key := range p.stands {
		before[key], _ = p.Ledger.Entry(key)
	}
	for i := range live {
		if p.holds(&live[i]) {
			highest = max(highest, live[i].Revision)
		}
	}
	p.Ledger.Rebuild(highest)
	for _, key := range p.Keys() {
		p.Ledger.Enter(key, before[key].Granted, before[key].Target)
	}
	for _, c := range inTurn(live) {
		if _, present := p.stands[c.Key]; p.holds(c) && (present || !p.Full()) {
			p.enter(c, p.unknown(), c.Target)
		}
	}
}

// inTurn returns children in the order in which they have an entry where there is no room for all.
func inTurn(children []Child) []*Child {
	turn := make([]*Child, len(children))
	for i := range children {
		turn[i] = &children[i]
	}
	slices.SortStableFunc(turn, ByTurn)
	return turn
}

// ByTurn compares children by when it is their turn to have an entry: those that have taken something up come first,
// then those that may hold anything, then who has come first.
func ByTurn(a, b *Child) int {
	return cmp.Or(a.turn()-b.turn(), cmp.Compare(a.Tenure, b.Tenure), cmp.Compare(a.Key, b.Key))
}

func (c *Child) turn() int {
	switch {
	case !c.Frozen():
		return 0
	case c.unsure():
		return 1
	}
	return 2
}
