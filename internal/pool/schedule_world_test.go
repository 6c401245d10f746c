package pool_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

// A schedule plays any number of hub managers over a tree of pools, the FederatedQuotas below it and a member of each.
// Each step sees the object that it writes as it is, since it is written by compare-and-swap, and any version that the
// other object ever had, but where the protocol demands a live read. Members take up decisions late, twice or never, and
// report late.

const cpu corev1.ResourceName = "requests.cpu"

// object is one version of a FederatedQuota or a QuotaPool.
type object struct {
	exists bool
	uid    string
	parent string
	hard   int64
	member pool.Membership
	// revision and entries are its ledger: of children if it is a pool, else of its member.
	revision int64
	entries  map[string]pool.Entry
	// beside is what those have that are counted without an entry.
	beside int64
	// restored is the last restore of the store that its ledger was rebuilt for.
	restored int64
	// granted and target are the sums of its entries, once somebody has asked for them.
	granted, target amount.List
}

func (o *object) copy() *object {
	c := *o
	c.entries, c.granted, c.target = maps.Clone(o.entries), nil, nil
	return &c
}

// node is an object with all versions that it ever had, the present one last.
type node struct {
	key      string
	pool     bool
	versions []*object
	raised   map[string]bool // by uid: whether this pool has seen all counted that name it
	// member is that of a FederatedQuota, and told all that was ever decided for it.
	member  member
	reports []ledger.Report
	told    []decision
	// stood says that it stood in a pool when the store was put back last.
	stood bool
	// since is the first version that caches may show: those of before are of a hub manager that has ended.
	since int
	// opened is the ledger of a pool as the version of says it, in the second at, while no step has changed it.
	opened *pool.Pool
	of     *object
	at     int64
	// below are the nodes that could be its children, once somebody has asked for them.
	below []*node
	// saw is the last version of each child that its rounds have counted without an entry: a cache shows none from before.
	saw map[string]int
}

type member struct {
	uid         string
	revision    int64
	limit, used int64
}

type decision struct {
	uid      string
	revision int64
	limit    int64
}

func (n *node) now() *object { return n.versions[len(n.versions)-1] }

func (n *node) write(o *object) { n.versions = append(n.versions, o) }

// rules say what may happen, and which part of the protocol is missing.
type rules struct {
	levels int
	// steady: whoever joins has nothing, and budgets of pools are not cut, so that no debt excuses anything.
	steady bool
	// inside: whoever is below the top may move to any pool there, with what it has.
	inside bool
	// alone: nothing happens beside such moves and raises, so that there are more of these.
	alone bool
	// leaves: all may leave as well, although they are alone otherwise.
	leaves bool
	// beside: the store has been put back, the status of one that was raised since the backup, or has left where there are
	// moves, cannot be stored, and nothing happens but what gives others its room.
	beside bool
	// gave: the store has been put back to before one gave room to another.
	gave bool
	// few: a pool has room for one child.
	few bool
	// prompt: members do not report late.
	prompt bool
	// moves, reborn, lost, restores: children join and leave; finalizers are torn off pools; ledgers are wiped; the store
	// goes back.
	moves, reborn, lost, restores bool
	without                       string
}

type world struct {
	rules
	rand   *rand.Rand
	nodes  []*node
	byKey  map[string]*node
	uids   int
	second int64
	backup map[string]*object
	// unheard says that the store was put back, or that the hub manager has started again, and that not all were heard
	// since. Once they are, a restore is known if told says so, if somebody shows it, or if somebody has stored it. Known
	// is the last one of which the hub manager knows.
	unheard, told bool
	known         int64
	// stuck is a FederatedQuota whose status cannot be stored since the store was put back.
	stuck *node
	err   error
	log   []note
}

// note is one line of the log, which is written out if something breaks.
type note struct {
	format string
	args   []any
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, note{format, args}) }

// story returns the log, and what broke.
func (w *world) story() string {
	var lines strings.Builder
	for _, n := range w.log {
		fmt.Fprintf(&lines, n.format+"\n", n.args...)
	}
	fmt.Fprint(&lines, w.err)
	return lines.String()
}

func (w *world) newUID() string {
	w.uids++
	return fmt.Sprint("uid", w.uids)
}

// apart is how many seconds are between two losses of a ledger, or restores: each rebuild in a tree takes its counter a
// second ahead of the clock, so another loss within these seconds could give a revision once more.
const apart = 60

func (w *world) epoch() int64 { return w.second * ledger.Gap }

func (w *world) add(key string, isPool bool, parent string, hard int64) {
	n := &node{key: key, pool: isPool, raised: map[string]bool{}, saw: map[string]int{}}
	o := &object{exists: true, uid: w.newUID(), parent: parent, hard: hard, revision: ledger.First, entries: map[string]pool.Entry{}}
	n.write(o)
	n.member.uid = o.uid
	w.nodes = append(w.nodes, n)
	w.byKey[key] = n
}

func newWorld(r rules, seed uint64) *world {
	w := &world{rules: r, rand: rand.New(rand.NewPCG(seed, 1)), byKey: map[string]*node{}, second: 1}
	w.add("top", true, "", 3)
	parent := "top"
	if r.levels == 3 {
		w.add("mid", true, "top", 3)
		parent = "mid"
	}
	w.add("a", false, parent, 3)
	w.add("b", false, parent, 3)
	if r.inside && r.levels == 3 {
		w.add("side", true, "top", 3)
	}
	if r.levels == 3 {
		w.add("c", false, "top", 3)
	}
	switch {
	case r.inside && r.levels == 3:
		w.begin("mid", 2)
		w.begin("side", 0)
		w.begin("c", 1)
		w.begin("a", 2)
		w.begin("b", 0)
	case r.inside:
		w.begin("a", 2)
		w.begin("b", 1)
	case r.gave:
		w.beginGiven()
	case r.beside || r.restores && w.rand.IntN(2) == 0:
		w.beginRestored()
	}
	return w
}

// beginRestored begins as the store is put back to before a budget was raised, left, left and came back, or came.
func (w *world) beginRestored() {
	a := w.byKey["a"]
	others := map[string]int64{"b": 1}
	if w.levels == 3 {
		others = map[string]int64{"mid": 1, "c": 1}
		w.byKey["b"].now().parent = "" // a is alone
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		w.begin(key, others[key])
		w.byKey[key].member.used = w.byKey[key].member.limit
	}
	lost := w.rand.IntN(4)
	switch {
	case w.beside && w.moves:
		lost = 1
	case w.beside:
		lost = 3
	}
	if lost > 0 {
		w.begin("a", 1)
	}
	if lost == 1 && w.moves {
		a.now().parent = ""
	}
	w.backUp(nil)
	for _, n := range w.nodes {
		n.write(n.now().copy())
		n.raised[n.now().uid] = true
	}
	switch o := a.now(); {
	case lost == 1 && w.moves:
		o.member = o.member.Leave(w.epoch())
	case lost == 2:
		o.member = o.member.Announce(o.parent, w.byKey[o.parent].now().uid, w.epoch())
		o.entries = map[string]pool.Entry{}
		a.write(o.copy())
		w.begin("a", 1)
	default:
		if w.levels == 3 {
			w.begin("mid", 2)
		}
		w.begin("a", 2)
	}
	a.member.used = a.member.limit
	if w.putBack(nil); w.beside {
		w.stuck = a
	} else if w.rand.IntN(2) == 0 {
		w.stuck = nil
		w.hear(nil)
		w.rebuildOwn(a)
		w.restart(nil)
	} else if w.rand.IntN(2) == 0 {
		w.stuck = a
	}
}

// beginGiven begins as the store is put back to before a gave room to b.
func (w *world) beginGiven() {
	parts := func(a, b int64) {
		w.begin("a", a)
		w.begin("b", b)
	}
	parts(2, 1)
	w.backUp(nil)
	for _, n := range w.nodes {
		n.write(n.now().copy())
	}
	parts(1, 2)
	for _, n := range w.nodes {
		n.member.used = n.member.limit
	}
	w.putBack(nil)
	w.stuck = nil
}

// begin has a child be in its pool from the start, with a part of the budget.
func (w *world) begin(key string, part int64) {
	o := w.byKey[key].now()
	p := w.byKey[o.parent].now()
	p.revision++
	amounts := amount.List{cpu: part}
	e := ledger.Entry{Revision: p.revision, Granted: amounts, Target: amounts}
	p.entries[key] = pool.Entry{Entry: e, UID: o.uid, Tenure: 1}
	o.member = pool.Membership{Name: o.parent, UID: p.uid, Tenure: 1, Revision: p.revision, Cap: amounts}
	if n := w.byKey[key]; !n.pool {
		o.revision++
		o.entries[theMember] = pool.Entry{Entry: ledger.Entry{Revision: o.revision, Granted: amounts, Target: amounts}}
		n.member.revision, n.member.limit = o.revision, part
		w.report(n)
	}
}

// stale returns a version of a node that a cache may show: any, but the last ones more often.
func (w *world) stale(n *node) *object {
	if w.rand.IntN(3) > 0 {
		return n.now()
	}
	return n.versions[n.since+w.rand.IntN(len(n.versions)-n.since)]
}

// read returns a version of a node as it is read past the cache. What that protects from is the name of the mutation
// that reads the cache. More than what restores need is not played: without them any version does.
func (w *world) read(n *node, protection string) *object {
	if w.restores && w.without != protection {
		return n.now()
	}
	return w.stale(n)
}

// children returns the nodes that could be children of a pool.
func (w *world) children(p *node) []*node {
	if p.below == nil {
		for _, n := range w.nodes {
			if n != p && n.key != "top" && (p.key == "top" || !n.pool || n.key == "side") {
				p.below = append(p.below, n)
			}
		}
	}
	return p.below
}

// sums returns what the ledger of a child has granted, and its targets. They are not to be changed.
func sums(o *object) (granted, target amount.List) {
	if o.granted == nil {
		g, t := o.beside, int64(0)
		for _, e := range o.entries {
			g, t = amount.Add(g, e.Granted[cpu]), amount.Add(t, e.Target[cpu])
		}
		o.granted, o.target = amount.List{cpu: g}, amount.List{cpu: t}
	}
	return o.granted, o.target
}

func shown(n *node, o *object) *pool.Child {
	granted, target := sums(o)
	return &pool.Child{Key: n.key, UID: o.uid, Membership: o.member, Unknown: o.revision == 0, Granted: granted, Target: target}
}

// budget returns what a node may hand out.
func (w *world) budget(n *node, o *object) amount.List {
	own := amount.List{cpu: o.hard}
	if n.pool && w.without == "the cap of a pool below a pool" {
		return own
	}
	return o.member.Budget(own)
}

// open returns the ledger of a pool, without what is counted beside it.
func (w *world) open(n *node) *pool.Pool {
	o := n.now()
	p := pool.New(o.uid, w.budget(n, o), o.revision, w.epoch(), o.entries)
	if w.few {
		p.Most = 1
	}
	return p
}

// crowd counts what those have for whom there is no room, as caches show them.
func (w *world) crowd(n *node, p *pool.Pool) {
	if !w.few {
		return
	}
	for _, c := range w.children(n) {
		n.saw[c.key] = max(n.saw[c.key], slices.Index(c.versions, w.stale(c)))
		child := shown(c, c.versions[n.saw[c.key]])
		if w.without == "counting who finds no room" {
			child.Granted = amount.List{cpu: 0}
		}
		if c.now().exists && !p.Counts(child) {
			p.CountBeside(child)
		}
	}
}

// look returns the ledger of a pool for who changes it only if that is stored. Most steps change nothing.
func (w *world) look(n *node) *pool.Pool {
	if n.opened == nil || n.of != n.now() || n.at != w.second || w.few || w.without != "" {
		n.opened, n.of, n.at = w.open(n), n.now(), w.second
		w.crowd(n, n.opened)
	}
	return n.opened
}

// shut stores the ledger of a pool, and what the pool is to its own by that.
func (w *world) shut(n *node, p *pool.Pool) {
	o := n.now().copy()
	if p.Outgrows(o.member) && w.without != "counting anew what has grown" {
		o.member = o.member.Renew(w.epoch())
		w.note("%s is to be counted anew, in tenure %d", n.key, o.member.Tenure)
	}
	w.crowd(n, p)
	o.revision, o.entries, o.beside = p.Ledger.Revision(), map[string]pool.Entry{}, 0
	for _, key := range p.Keys() {
		o.entries[key], _ = p.Entry(key)
	}
	sum, _ := sums(o)
	if all := p.Ledger.Granted(cpu); all > sum[cpu] {
		o.beside, o.granted = all-sum[cpu], nil
		if all == ledger.Unknown {
			o.beside = ledger.Unknown
		}
	}
	n.write(o)
}

// openOwn returns the ledger of a FederatedQuota over its member.
func (w *world) openOwn(n *node, o *object) *ledger.Ledger {
	entries := map[string]ledger.Entry{}
	for key, e := range o.entries {
		entries[key] = e.Entry
	}
	l := ledger.New(w.budget(n, o), o.revision, entries)
	l.In(w.epoch())
	return l
}

// shutOwn stores the ledger of a FederatedQuota in a version of it, and has the decision on its way to the member.
func (w *world) shutOwn(n *node, o *object, l *ledger.Ledger) {
	o = o.copy()
	o.revision, o.entries = l.Revision(), map[string]pool.Entry{}
	if e, ok := l.Entry(theMember); ok {
		o.entries[theMember] = pool.Entry{Entry: e}
		n.told = append(n.told, decision{o.uid, e.Revision, e.Target[cpu]})
	}
	n.write(o)
}

const theMember = "member"

// frozen says whether a node may raise, lower and restore nothing.
func (w *world) frozen(o *object) bool {
	if w.without == "the freeze of a join" {
		return false
	}
	return o.member.Frozen() || o.parent != "" && !o.member.Stands()
}

// holds returns what is in force below a node: the most that its members enforce or use.
func (w *world) holds(n *node) int64 {
	if !n.pool {
		return max(n.member.limit, n.member.used)
	}
	var sum int64
	for _, c := range w.nodes {
		if w.below(c, n) {
			sum += w.holds(c)
		}
	}
	return sum
}

// uses returns what is used below a node, also by those that have just rebuilt.
func (w *world) uses(n *node) int64 {
	if !n.pool {
		return n.member.used
	}
	var sum int64
	for _, c := range w.nodes {
		if o := c.now(); o.exists && o.member.Stands() && o.member.UID == n.now().uid && o.member.Revision > 0 {
			sum += w.uses(c)
		}
	}
	return sum
}

// below says whether a child stands below the present pool, and was given a cap by it.
func (w *world) below(c, p *node) bool {
	o := c.now()
	return o.exists && o.member.Stands() && o.member.UID == p.now().uid && o.member.Cap != nil
}

// inTree says whether an object stands below the top, counted there or not, or in one that was there before.
func (w *world) inTree(o *object) bool {
	p := w.byKey[o.member.Name]
	if p == nil || !p.now().exists || p.now().uid != o.member.UID && !w.reborn {
		return false
	}
	return p.key == "top" || w.inTree(p.now())
}

// mayHold returns the most that the member of a FederatedQuota may come to enforce or use by what is on its way.
func (n *node) mayHold() int64 {
	most := max(n.member.limit, n.member.used)
	for _, d := range n.onTheWay() {
		if n.takes(d) {
			most = max(most, d.limit)
		}
	}
	return most
}

// mayHold returns the most that may come to be in force below a node, by all that have ever told it so.
func (w *world) mayHold(n *node) int64 {
	if !n.pool {
		return n.mayHold()
	}
	var sum int64
	for _, c := range w.nodes {
		if o := c.now(); o.exists && o.member.Stands() && o.member.UID == n.now().uid {
			sum += w.mayHold(c)
		}
	}
	return sum
}

// contains says whether somebody stands in a pool.
func (w *world) contains(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(c *node) bool {
		o := c.now()
		return o.exists && o.member.Stands() && o.member.UID == n.now().uid
	})
}

// onTheWay returns the last decisions, which may come in any order.
func (n *node) onTheWay() []decision { return n.told[max(0, len(n.told)-4):] }

// takes says whether the member of a FederatedQuota enforces a decision once it comes.
func (n *node) takes(d decision) bool {
	return (d.uid == n.member.uid || d.uid == n.now().uid) && d.revision > n.member.revision
}

// inForce returns what is in force anywhere below the top.
func (w *world) inForce() int64 {
	var sum int64
	for _, n := range w.nodes {
		if !n.pool && n.now().exists && w.inTree(n.now()) {
			sum += w.holds(n)
		}
	}
	return sum
}

// indebted says whether a pool has more granted than its own pool allows, as after a child has joined with something: its
// own pool learns of that later.
func (w *world) indebted(n *node) bool {
	granted, _ := sums(n.now())
	return n.pool && (!w.steady || w.inside) && granted[cpu] > n.now().member.Cap[cpu]
}

// check holds the invariants against what is really there.
func (w *world) check() {
	for _, p := range w.nodes {
		o := p.now()
		if !p.pool || !o.exists {
			continue
		}
		if w.inside && p.key == "top" && w.inForce() > o.hard {
			w.fail("S1: %d are in force below the top, whose budget is %d", w.inForce(), o.hard)
		}
		if w.steady && !w.inside && w.uses(p) > o.hard {
			w.fail("S1: %d are used below %s, whose budget is %d", w.uses(p), p.key, o.hard)
		}
		if o.revision == 0 || w.restores {
			continue // what was lost counts again once it is rebuilt
		}
		for _, c := range w.nodes {
			if !w.below(c, p) {
				continue
			}
			e, counted := o.entries[c.key]
			if !counted && w.few && w.lost {
				continue // it has taken up what a lost ledger had offered, and the pool raises nobody
			}
			switch held := w.holds(c); {
			case !counted || e.UID != c.now().uid || e.Tenure != c.now().member.Tenure:
				w.fail("P2: %s has a cap of %s, which has no entry for it", c.key, p.key)
			case held > e.Granted[cpu] && !w.indebted(c):
				w.fail("P2: %s holds %d, and %s counts %d", c.key, held, p.key, e.Granted[cpu])
			}
		}
	}
}

// aside are the actions without which moves below a pool are played alone.
var aside = []string{"unname", "delete", "create", "cut", "lower own", "restore own", "fall", "rebuild own", "rebuild", "gone", "left"}

// leaving are those of them by which somebody leaves.
var leaving = []string{"unname", "left"}

// rebuilding are those of them by which ledgers that were put back are rebuilt, and settle after that.
var rebuilding = []string{"rebuild own", "rebuild", "lower own", "fall"}

// giving are the actions that give others the room of one that is stuck.
var giving = []string{
	"hear", "rebuild own", "rebuild", "take up", "settle own", "settle", "raise", "raise own", "deliver", "charge", "left",
}

// run plays a schedule of so many steps that change something, and returns what it broke.
func (w *world) run(steps int) error {
	names := slices.Sorted(maps.Keys(actions))
	if w.alone {
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains(aside, name) && (!w.leaves || !slices.Contains(leaving, name)) &&
				(!w.restores || !slices.Contains(rebuilding, name))
		})
	}
	if w.beside {
		names = giving
	}
	var total int
	for _, name := range names {
		total += actions[name].weight
	}
	for range 20 * steps {
		if len(w.log) >= steps {
			break
		}
		at, noted := w.rand.IntN(total), len(w.log)
		for _, name := range names {
			if at -= actions[name].weight; at < 0 {
				actions[name].do(w, w.nodes[w.rand.IntN(len(w.nodes))])
				break
			}
		}
		if len(w.log) > noted {
			w.check()
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}
