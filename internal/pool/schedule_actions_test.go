package pool_test

import (
	"maps"
	"slices"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
)

// action is something that can happen to a node.
type action struct {
	weight int
	do     func(w *world, n *node)
}

var actions = map[string]action{
	"announce": {6, (*world).announce}, "leave": {3, (*world).leave}, "take up": {12, (*world).takeUp},
	"raise own": {10, (*world).raiseOwn}, "lower own": {6, (*world).lowerOwn}, "restore own": {3, (*world).restoreOwn},
	"settle own": {12, (*world).settleOwn}, "rebuild own": {6, (*world).rebuildOwn},
	"enter": {10, (*world).enter}, "settle": {12, (*world).settle}, "left": {3, (*world).left}, "moved": {6, (*world).moved}, "gone": {3, (*world).gone},
	"steer": {8, (*world).steer}, "steer own": {8, (*world).steerOwn},
	"raise": {12, (*world).raise}, "lower": {8, (*world).lower}, "restore": {3, (*world).restore}, "rebuild": {8, (*world).rebuild},
	"deliver": {12, (*world).deliver}, "charge": {10, (*world).charge}, "fall": {8, (*world).fall},
	"name": {2, (*world).name}, "unname": {1, (*world).unname}, "delete": {1, (*world).remove}, "create": {3, (*world).create},
	"cut": {1, (*world).cut}, "rebirth": {1, (*world).rebirth}, "lose": {1, (*world).lose},
	"back up": {1, (*world).backUp}, "put back": {1, (*world).putBack},
	"restart": {1, (*world).restart}, "hear": {6, (*world).hear}, "unstick": {1, (*world).unstick},
}

// acts says whether a hub manager may write a node now: one that was put back rebuilds before all else, and no
// FederatedQuota decides anything before all are heard.
func (w *world) acts(n *node) bool {
	o := n.now()
	return o.exists && !w.restored(n) && o.revision > 0 && (n.pool || !w.unheard) && n != w.stuck
}

// restored says whether a node has yet to rebuild its ledger for a restore that is known.
func (w *world) restored(n *node) bool {
	if n.pool && w.without == "the news of a restore to pools" || n.key != "a" && w.without == "the news of a restore" {
		return false
	}
	return n.now().exists && n.now().restored < w.known
}

func (w *world) announce(n *node) {
	o, p := n.now(), w.byKey[n.now().parent]
	if !w.acts(n) || p == nil || !p.now().exists {
		return
	}
	uid := p.now().uid
	comes := !w.inside || !w.inTree(o)
	present := o.member.Name == p.key && o.member.UID == uid
	if present && (!w.few || !w.outlived(n, p)) || w.steady && !w.idle(n) && comes || w.loses(n) {
		return
	}
	o = o.copy()
	o.member = o.member.Announce(p.key, uid, w.epoch())
	n.write(o)
	w.note("%s announces itself to %s %s in tenure %d", n.key, p.key, uid, o.member.Tenure)
}

// outlived says whether a child that waits in a pool announces itself anew, since the ledger there may be another one.
func (w *world) outlived(n, p *node) bool {
	m, shown := n.now().member, w.stale(p)
	_, offered := shown.entries[n.key]
	return !offered && shown.uid == m.UID && m.Frozen() && !m.Floored() && m.Outlives(shown.revision)
}

// idle says whether a child has nothing. In a pool that includes what those have that have yet to be counted there.
func (w *world) idle(n *node) bool {
	granted, _ := sums(n.now())
	held := w.holds(n)
	if n.pool {
		held = w.mayHold(n)
	}
	return granted.IsZero() && held == 0
}

// loses says whether a pool has yet to let go of what a child has taken to another pool.
func (w *world) loses(n *node) bool {
	if !n.pool || !n.now().member.Stands() || w.without == "staying until what has moved is counted" {
		return false
	}
	p := w.look(n)
	return slices.ContainsFunc(p.Keys(), func(key string) bool {
		c := w.byKey[key]
		return c.now().exists && p.Loses(shown(c, c.now()))
	})
}

func (w *world) leave(n *node) {
	o := n.now()
	if !w.acts(n) || !o.member.Stands() || o.parent != "" || w.loses(n) {
		return
	}
	o = o.copy()
	o.member = o.member.Leave(w.epoch())
	n.stood = false
	n.write(o)
	w.note("%s leaves, tenure %d", n.key, o.member.Tenure)
}

func (w *world) takeUp(n *node) {
	o := n.now()
	p := w.byKey[o.member.Name]
	if !w.acts(n) || p == nil {
		return
	}
	var own *pool.Pool
	if n.pool {
		if own = w.look(n); w.counting(n, own) {
			return
		}
	}
	shown := w.stale(p)
	e, ok := shown.entries[n.key]
	if !ok {
		return
	}
	offer := pool.Offer{PoolUID: shown.uid, Entry: e}
	m, news := w.takes(o, offer)
	if !news {
		return
	}
	o = o.copy()
	o.member = m
	n.write(o)
	if w.few && n.pool {
		w.shut(n, own) // with what it has counted
	}
	w.note("%s takes up revision %d: %d", n.key, m.Revision, m.Cap[cpu])
}

// barred says whether a pool in which there is little room is to rebuild its ledger before it raises anybody.
func (w *world) barred(n *node, p *pool.Pool) bool {
	var seen []pool.Child
	for _, c := range w.children(n) {
		if o := c.versions[n.saw[c.key]]; o.exists {
			seen = append(seen, *shown(c, o))
		}
	}
	return w.few && p.Lost(seen)
}

// counting says whether a pool that has rebuilt its ledger has yet to enter somebody who names it.
func (w *world) counting(n *node, p *pool.Pool) bool {
	return n.now().member.Floored() && !w.heard(n, p)
}

// takes is the step of the product, or what is wrong.
func (w *world) takes(o *object, offer pool.Offer) (pool.Membership, bool) {
	present := o.member
	switch w.without {
	case "the order of entries":
		o = o.copy()
		o.member.Revision = 0
	case "the tenure of a child":
		offer.Tenure = present.Tenure
	case "the uid of a child":
		offer.UID = o.uid
	case "the target as cap":
		offer.Target = offer.Granted
	}
	return o.member.TakeUp(o.uid, offer)
}

func (w *world) own(n *node, change func(l *ledger.Ledger, e ledger.Entry)) {
	o := n.now()
	if n.pool || !w.acts(n) {
		return
	}
	l := w.openOwn(n, o)
	if !l.Has(theMember) {
		l.Join(theMember, false)
		l.Adopt(theMember, nil)
	}
	before, _ := l.Entry(theMember)
	noted := len(w.log)
	if change(l, before); len(w.log) > noted {
		w.shutOwn(n, o, l)
	}
}

func (w *world) raiseOwn(n *node) {
	if w.frozen(n.now()) {
		return
	}
	w.own(n, func(l *ledger.Ledger, _ ledger.Entry) {
		if x := l.Raise(theMember, cpu, 1+w.rand.Int64N(2)); x > 0 {
			if l.Granted(cpu) > l.Budget()[cpu] {
				w.fail("P2: %s raised its member to %d, with a budget of %d", n.key, l.Granted(cpu), l.Budget()[cpu])
			}
			w.note("%s raises by %d to %d", n.key, x, l.Granted(cpu))
		}
	})
}

func (w *world) lowerOwn(n *node) {
	if !n.now().member.Frozen() {
		w.own(n, func(l *ledger.Ledger, e ledger.Entry) {
			if e.Target[cpu] == 0 {
				return
			}
			l.Lower(theMember, cpu, e.Target[cpu]-1)
			w.note("%s lowers to %d", n.key, e.Target[cpu]-1)
		})
	}
}

func (w *world) restoreOwn(n *node) {
	if !w.frozen(n.now()) {
		w.own(n, func(l *ledger.Ledger, e ledger.Entry) {
			if l.Restore(theMember, cpu, e.Target[cpu]+1); l.RevisionOf(theMember) > e.Revision {
				w.note("%s restores %d", n.key, e.Target[cpu]+1)
			}
		})
	}
}

func (w *world) settleOwn(n *node) {
	if len(n.reports) == 0 {
		return
	}
	late := w.rand.IntN(min(3, len(n.reports)))
	if w.prompt {
		late = 0
	}
	report := n.reports[len(n.reports)-1-late]
	w.own(n, func(l *ledger.Ledger, before ledger.Entry) {
		if l.Hear(theMember, report); l.Granted(cpu) == before.Granted[cpu] {
			return
		}
		w.note("%s settles revision %d: granted %d", n.key, report.Revision, l.Granted(cpu))
	})
}

// rebuildOwn rebuilds the ledger of a FederatedQuota that was lost or put back, and puts a floor under the pool.
func (w *world) rebuildOwn(n *node) {
	o := n.now()
	if n.pool || !o.exists || w.unheard || n == w.stuck || !w.restored(n) && o.revision > 0 {
		return
	}
	l := w.openOwn(n, o)
	l.Join(theMember, true)
	l.Rebuild(l.Revision())
	l.Adopt(theMember, &ledger.Share{Revision: n.member.revision, Hard: amount.List{cpu: n.member.limit}, InForce: n.member.revision})
	o = o.copy()
	o.restored = max(o.restored, w.known)
	w.floor(n, o)
	w.shutOwn(n, o, l)
	w.note("%s rebuilds, revision %d, floor %d", n.key, l.Revision(), o.member.Revision)
}

// floor has an object take up nothing that was offered before, and announce itself if it has forgotten where it stood.
func (w *world) floor(n *node, o *object) {
	p := w.byKey[o.parent]
	comes := w.steady && !n.stood && w.mayHold(n) > 0
	if p != nil && p.now().exists && !o.member.Stands() && !comes {
		o.member = o.member.Announce(p.key, p.now().uid, w.epoch())
	}
	if o.member.Stands() {
		tenure := o.member.Tenure
		if o.member = o.member.Floor(w.epoch()); w.without == "the tenure of a floor" {
			o.member.Tenure = tenure
		}
	}
	n.stood = o.member.Stands()
}

// onPool has a step change the ledger of a pool, by one of the nodes that may be its children.
func (w *world) onPool(n *node, change func(p *pool.Pool, c *node) bool) {
	if !n.pool || !w.acts(n) {
		return
	}
	p, all := w.look(n), w.children(n)
	if change(p, all[w.rand.IntN(len(all))]) {
		w.shut(n, p)
	}
}

func (w *world) enter(n *node) {
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		o := w.read(c, "the live read of who comes")
		if !o.exists {
			return false
		}
		child := shown(c, o)
		if w.without == "what a child has that joins" {
			child.Granted = amount.List{cpu: 0}
		}
		if !p.Enter(child) {
			return false
		}
		w.note("%s enters %s in tenure %d with %d, revision %d", n.key, c.key, child.Tenure, child.Granted[cpu], p.Ledger.RevisionOf(c.key))
		return true
	})
}

func (w *world) settle(n *node) {
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		o := w.stale(c)
		if !o.exists {
			return false
		}
		child := shown(c, o)
		before, _ := p.Entry(c.key)
		w.settles(p, child)
		e, _ := p.Entry(c.key)
		if e.Granted[cpu] == before.Granted[cpu] {
			return false
		}
		w.note("%s settles %s at revision %d of %d: granted %d", n.key, c.key, child.Revision, e.Revision, e.Granted[cpu])
		return true
	})
}

// settles is the step of the product, or what is wrong.
func (w *world) settles(p *pool.Pool, child *pool.Child) {
	e, ok := p.Entry(child.Key)
	switch {
	case w.without == "the target in settling" && p.Confirms(child):
		p.Ledger.Gone(child.Key)
		e.Granted = child.Granted
		p.Ledger.Enter(child.Key, e.Granted, e.Target)
		return
	case w.without == "the sum in settling" && p.Confirms(child):
		child.Granted = e.Target
	case w.without == "the revision in settling" && ok && child.Membership.UID != "":
		child.Revision = e.Revision
	case w.without == "the tenure of a child" && ok:
		child.Tenure = e.Tenure
	case w.without == "the uid of a child" && ok:
		child.UID = e.UID
	}
	p.Hear(child)
}

func (w *world) left(n *node) {
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		o := w.read(c, "the live read of who has left")
		if !o.exists {
			return false
		}
		child := shown(c, o)
		gone := p.Left(child)
		switch {
		case w.without == "the leaving write" && o.parent != n.key:
			gone = p.Gone(c.key, nil)
		case w.without == "the live read of another uid":
			gone = p.Gone(c.key, child)
		}
		if !gone {
			return false
		}
		w.note("%s lets go of %s", n.key, c.key)
		return true
	})
}

func (w *world) moved(n *node) {
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		o, own := w.stale(c), n.now().member
		if !o.exists {
			return false
		}
		child, before := shown(c, o), p.Ledger.Revision()
		e, present := p.Entry(c.key)
		if w.without == "counting what has moved" && present && e.UID == child.UID && e.Tenure < child.Tenure && child.Membership.UID != n.now().uid {
			w.note("%s drops %s at once", n.key, c.key)
			return p.Gone(c.key, nil)
		}
		gone := p.Moved(child, own, w.tree())
		if gone || p.Ledger.Revision() > before {
			after, _ := p.Entry(c.key)
			w.note("%s lets go of what %s has taken to %s: keeps %d of %d", n.key, c.key, child.Name, after.Granted[cpu], e.Granted[cpu])
			return true
		}
		return false
	})
}

// tree is what all pools have stored now.
func (w *world) tree() pool.Tree {
	t := pool.Tree{}
	for _, n := range w.nodes {
		o := n.now()
		if !n.pool || !o.exists {
			continue
		}
		granted, _ := sums(o)
		t[n.key] = &pool.Node{
			Key: n.key, UID: o.uid, Membership: o.member, Budget: w.budget(n, o), Granted: granted, Entries: o.entries,
		}
		if w.without == "what a move leaves behind" {
			t[n.key].Budget = nil
		}
	}
	if w.without == "the tenures of pools" {
		for _, below := range t {
			if above := t[below.Name]; above != nil {
				e := above.Entries[below.Key]
				e.UID, e.Tenure = below.UID, below.Tenure
				above.Entries = maps.Clone(above.Entries)
				above.Entries[below.Key] = e
			}
		}
	}
	return t
}

func (w *world) gone(n *node) {
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		o := c.now()
		if w.without == "the live read of who is gone" {
			o = w.stale(c)
		}
		gone := o.exists && p.Gone(c.key, shown(c, o)) || !o.exists && p.Gone(c.key, nil)
		if gone {
			w.note("%s finds %s gone", n.key, c.key)
		}
		return gone
	})
}

func (w *world) raise(n *node) {
	if w.frozen(n.now()) || !w.few && !w.heard(n, w.look(n)) {
		return
	}
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		if w.few && (!w.heard(n, p) || w.barred(n, p)) {
			return false
		}
		x := p.Ledger.Raise(c.key, cpu, 1+w.rand.Int64N(2))
		if x == 0 {
			return false
		}
		if sum, budget := p.Ledger.Granted(cpu), p.Ledger.Budget()[cpu]; sum > budget {
			w.fail("P1: %s raised %s, and grants %d of %d", n.key, c.key, sum, budget)
		}
		e, _ := p.Entry(c.key)
		w.note("%s raises %s by %d to %d, revision %d", n.key, c.key, x, e.Granted[cpu], e.Revision)
		return true
	})
}

// steer has the round of the product move the parts of all children of a pool.
func (w *world) steer(n *node) {
	if !n.pool || !w.acts(n) || w.frozen(n.now()) {
		return
	}
	p := w.open(n)
	if w.crowd(n, p); w.barred(n, p) {
		return
	}
	in := round.Input{ID: n.now().uid, Uncounted: !w.heard(n, p), Split: split}
	for _, key := range p.Keys() {
		c := w.byKey[key]
		standing := round.Standing{Name: key, UID: key, Pinned: true}
		if child := shown(c, w.stale(c)); p.Knows(child) {
			standing = w.standing(c)
			standing.Pinned = child.Unknown
		}
		in.Children = append(in.Children, standing)
	}
	before := p.Ledger.Revision()
	round.Steer(p.Ledger, &in)
	if p.Ledger.Revision() == before {
		return
	}
	w.note("%s steers, and grants %d of %d", n.key, p.Ledger.Granted(cpu), p.Ledger.Budget()[cpu])
	w.shut(n, p)
}

// steerOwn has the same round move the limit of the member of a FederatedQuota.
func (w *world) steerOwn(n *node) {
	if w.frozen(n.now()) {
		return
	}
	w.own(n, func(l *ledger.Ledger, e ledger.Entry) {
		member := w.standing(n)
		member.Name, member.Terms.Max = theMember, nil
		round.Steer(l, &round.Input{ID: n.now().uid, Split: split, Children: []round.Standing{member}})
		if after, _ := l.Entry(theMember); after.Revision > e.Revision {
			w.note("%s steers its member to %d", n.key, after.Target[cpu])
		}
	})
}

// split is that of a pool whose parts follow demand.
var split = round.Split{Options: pace.Options(true), Respites: pace.Respites()}

// standing returns how a node stands to its budget: with what is used below it, and any demand.
func (w *world) standing(n *node) round.Standing {
	return round.Standing{
		Name: n.key, UID: n.key, Terms: round.Terms{Weight: 1, Max: amount.List{cpu: n.now().hard}}, CanRaise: true,
		Used: amount.List{cpu: w.uses(n)}, Demand: amount.List{cpu: w.rand.Int64N(3)},
	}
}

// heard says whether a pool may raise, whose ledger is opened: until it has seen that once, all that name it have to be
// counted.
func (w *world) heard(n *node, p *pool.Pool) bool {
	if n.raised[n.now().uid] || w.without == "waiting for who is not entered" {
		return true
	}
	n.raised[n.now().uid] = !slices.ContainsFunc(w.children(n), func(c *node) bool {
		o := c.now()
		return o.exists && o.parent == n.key && !p.Counts(shown(c, o))
	})
	return n.raised[n.now().uid]
}

func (w *world) lower(n *node) {
	if w.frozen(n.now()) {
		return
	}
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		e, ok := p.Entry(c.key)
		if !ok || e.Target[cpu] == 0 {
			return false
		}
		switch to := e.Target[cpu] - 1; {
		case w.without == "a revision for each lowering" && p.Confirms(shown(c, c.now())):
			o := n.now().copy()
			e.Target = amount.List{cpu: to}
			if granted, _ := sums(c.now()); granted[cpu] <= to {
				e.Granted = e.Target
			}
			o.entries[c.key] = e
			n.write(o)
			w.note("%s lowers %s to %d by the same revision", n.key, c.key, to)
			return false
		case w.without == "waiting for what is lowered":
			p.Ledger.Gone(c.key)
			p.Ledger.Enter(c.key, amount.List{cpu: to}, amount.List{cpu: to})
		default:
			p.Ledger.Lower(c.key, cpu, to)
		}
		w.note("%s lowers %s to %d", n.key, c.key, e.Target[cpu]-1)
		return true
	})
}

func (w *world) restore(n *node) {
	if w.frozen(n.now()) || !w.few && !w.heard(n, w.look(n)) && w.without != "waiting with what is restored" {
		return
	}
	w.onPool(n, func(p *pool.Pool, c *node) bool {
		if w.few && (!w.heard(n, p) || w.barred(n, p)) {
			return false
		}
		e, _ := p.Entry(c.key)
		if p.Ledger.Restore(c.key, cpu, e.Target[cpu]+1); p.Ledger.RevisionOf(c.key) == e.Revision {
			return false
		}
		w.note("%s restores %s to %d", n.key, c.key, e.Target[cpu]+1)
		return true
	})
}

// list returns all that could be children of a pool, read past the cache.
func (w *world) list(n *node) []pool.Child {
	all := w.children(n)
	live := make([]pool.Child, 0, len(all))
	for _, c := range all {
		o := c.now()
		if w.without == "the live list of whom a rebuild counts" {
			o = w.stale(c)
		}
		if o.exists {
			live = append(live, *shown(c, o))
		}
	}
	return live
}

// rebuild rebuilds the ledger of a pool that was lost or put back, once a live list confirms it.
func (w *world) rebuild(n *node) {
	o := n.now()
	if !n.pool || !o.exists {
		return
	}
	p, live := w.look(n), w.list(n)
	if w.few {
		p = w.open(n)
	}
	if !w.restored(n) && !p.Lost(live) {
		return
	}
	p.Rebuild(live)
	if w.without != "waiting again after a rebuild" {
		n.raised[o.uid] = false
	}
	o = o.copy()
	o.restored = max(o.restored, w.known)
	w.floor(n, o)
	n.write(o)
	w.shut(n, p)
	w.note("%s rebuilds, revision %d", n.key, p.Ledger.Revision())
}

func (w *world) report(n *node) {
	bound := amount.List{cpu: max(n.member.limit, n.member.used)}
	n.reports = append(n.reports, ledger.Report{Revision: n.member.revision, Hard: bound, Used: amount.List{cpu: n.member.used}})
}

func (w *world) deliver(n *node) {
	if n.pool || len(n.told) == 0 {
		return
	}
	last := n.onTheWay()
	d := last[w.rand.IntN(len(last))]
	if !n.takes(d) {
		return
	}
	n.member.uid, n.member.revision, n.member.limit = d.uid, d.revision, d.limit
	w.report(n)
	w.note("the member of %s enforces %d of revision %d", n.key, d.limit, d.revision)
}

func (w *world) charge(n *node) {
	if !n.pool && n.member.used < n.member.limit {
		n.member.used++
		w.note("the member of %s uses %d", n.key, n.member.used)
		w.report(n)
	}
}

func (w *world) fall(n *node) {
	if !n.pool && n.member.used > 0 {
		n.member.used--
		w.note("the member of %s uses %d", n.key, n.member.used)
		w.report(n)
	}
}

func (w *world) parentOf(n *node) string {
	switch {
	case w.inside && n.key == "side":
		return []string{"top", "mid"}[w.rand.IntN(2)]
	case w.inside && !n.pool:
		return []string{"top", "mid", "side"}[w.rand.IntN(3)]
	case n.key == "c" || n.pool || w.levels == 2 || w.rand.IntN(3) == 0:
		return "top"
	}
	return "mid"
}

func (w *world) respec(n *node, change func(o *object)) {
	o := n.now().copy()
	change(o)
	n.write(o)
	w.note("%s names %q, and its own budget is %d", n.key, o.parent, o.hard)
}

func (w *world) name(n *node) {
	if w.moves && n.key != "top" && n.now().exists {
		w.respec(n, func(o *object) { o.parent = w.parentOf(n) })
	}
}

// unname takes a child out of its pool. One that has forgotten where it stood is out of it at once: it comes back as any
// other comes.
func (w *world) unname(n *node) {
	if w.moves && n.now().exists {
		n.stood = n.stood && n.now().member.Stands()
		w.respec(n, func(o *object) { o.parent = "" })
	}
}

// remove deletes a FederatedQuota whose member has let go, or a pool that nobody is in any more.
func (w *world) remove(n *node) {
	o := n.now()
	if !w.moves || !w.acts(n) || !w.idle(n) || n.pool && (!w.restores || n.key == "top" || w.contains(n)) {
		return
	}
	n.write(&object{uid: o.uid})
	w.note("%s is deleted", n.key)
}

func (w *world) create(n *node) {
	if n.now().exists {
		return
	}
	o := &object{exists: true, uid: w.newUID(), parent: w.parentOf(n), hard: 3, revision: ledger.First, entries: map[string]pool.Entry{}, restored: w.known}
	n.write(o)
	n.member, n.told, n.reports, n.stood = member{uid: o.uid}, nil, nil, false
	w.note("%s is created again", n.key)
}

func (w *world) cut(n *node) {
	if !w.steady {
		w.respec(n, func(o *object) { o.hard = 1 + w.rand.Int64N(3) })
	}
}

// rebirth tears the finalizer off a pool, and creates it again.
func (w *world) rebirth(n *node) {
	if !w.reborn || n.key != "top" {
		return
	}
	o := n.now()
	n.write(&object{exists: true, uid: w.newUID(), parent: o.parent, hard: o.hard, revision: ledger.First, entries: map[string]pool.Entry{}, restored: w.known})
	w.note("%s is created again", n.key)
}

func (w *world) lose(n *node) {
	if o := n.now(); w.lost && o.exists {
		w.second += apart
		o = o.copy()
		o.revision, o.entries, o.member = 0, map[string]pool.Entry{}, pool.Membership{}
		n.write(o)
		w.note("the status of %s is lost", n.key)
	}
}

func (w *world) backUp(_ *node) {
	if w.restores && w.backup == nil {
		w.backup = map[string]*object{}
		for _, n := range w.nodes {
			w.backup[n.key] = n.now()
		}
	}
}

// putBack puts the store of the hub back. What was in force elsewhere may come to be debt by that: this is not played.
func (w *world) putBack(_ *node) {
	if w.backup == nil || w.unheard {
		return
	}
	backup := w.backup
	w.backup = nil
	if w.owes(backup) {
		return
	}
	w.second += apart
	w.unheard, w.told = true, true
	for _, n := range w.nodes {
		n.stood = n.now().exists && n.now().member.Stands() && w.returnsTo(backup, n) != nil
		n.write(backup[n.key].copy())
	}
	w.note("the store is put back")
	if n := w.nodes[w.rand.IntN(len(w.nodes))]; !n.pool {
		w.stuck = n
		w.note("the status of %s cannot be stored", n.key)
	}
}

func (w *world) unstick(n *node) {
	if n == w.stuck {
		w.note("the status of %s can be stored again", n.key)
		w.stuck = nil
	}
}

// owes says whether a pool would be in debt if the store were put back to a backup.
func (w *world) owes(backup map[string]*object) bool {
	most := map[string]int64{}
	for _, n := range w.nodes {
		if n.pool || !backup[n.key].exists {
			continue
		}
		for in := w.returnsTo(backup, n); in != nil; in = w.returnsTo(backup, in) {
			most[in.key] += n.mayHold()
		}
	}
	for key, sum := range most {
		if sum > backup[key].hard && (key == "top" || !w.inside) {
			return true
		}
	}
	return false
}

// returnsTo returns the pool that a node stands in, or announces itself to, once the store is put back; nil if none.
func (w *world) returnsTo(backup map[string]*object, n *node) *node {
	o := backup[n.key]
	name := o.parent
	if o.member.Stands() {
		name = o.member.Name
	}
	if name == "" || !backup[name].exists || o.member.Stands() && o.member.UID != backup[name].uid {
		return nil
	}
	return w.byKey[name]
}

// restart has the hub manager end, and start again: what was on its way has come or never does, its caches show nothing
// of before, and it has forgotten what it knew of restores.
func (w *world) restart(_ *node) {
	if !w.restores {
		return
	}
	for _, n := range w.nodes {
		n.told, n.raised, n.since = nil, map[string]bool{}, len(n.versions)-1
	}
	w.unheard, w.told, w.known = true, w.told && w.unheard, 0
	w.note("the hub manager starts again")
}

// hear has all that there is in the tree be heard. A restore that one of them shows, or has stored, is known of all
// ledgers then.
func (w *world) hear(_ *node) {
	if !w.unheard {
		return
	}
	w.unheard = false
	before := w.known
	for _, n := range w.nodes {
		if o := n.now(); o.exists && (n.pool || o.member.Stands()) && w.without != "the stored news of a restore" {
			w.known = max(w.known, o.restored)
		}
	}
	if w.told || slices.ContainsFunc(w.nodes, w.shows) {
		w.known = max(w.known+1, w.epoch())
	}
	w.told = false
	w.note("all are heard: of %d restores, and now of %d", before, w.known)
}

// shows says whether the member of a FederatedQuota shows that the store was put back: it knows what the ledger does not.
func (w *world) shows(n *node) bool {
	o := n.now()
	return o.exists && !n.pool && n.member.revision > o.entries[theMember].Revision
}
