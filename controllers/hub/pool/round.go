package pool

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	hubcapacity "github.com/fedquota/fedquota/controllers/hub/capacity"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	tenants "github.com/fedquota/fedquota/controllers/hub/tenant"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
	"github.com/fedquota/fedquota/internal/validate"
)

// scope is one round over one pool.
type scope struct {
	p   *quotav1alpha1.QuotaPool
	now time.Time
	// member is what the pool is to its parent from this round on.
	member pool.Membership
	// halted says in a reason and in words why nothing is raised or lowered, or is empty, and lagging why it goes by what
	// its parent gave it last.
	halted  obstacle
	lagging string
	pool    *pool.Pool
	// children are those that name the pool or are in it, by key.
	children map[string]*child
	// moved are those that still count here, but are in another pool by now. torn are pools that are gone and count here,
	// by key, with those in words that still stand in them.
	moved []*child
	torn  map[string]string
	// expected are those that are in no ledger yet and are to be, refused those that are not to be, and leftOut those for
	// which there is no room. Of these, unsure are those of which it is not known what they have.
	expected, refused, leftOut, unsure []string
	// restore is the last restore of the hub's store that was known when the round began, and restored says that the
	// ledger is to be rebuilt for it.
	restore  int64
	restored bool
	rebuilt  bool
	// split is how the budget is split, standings how the children stand, and limits what was decided of them.
	split     round.Split
	standings []round.Standing
	limits    map[string]round.Limits
	// states are those of the entries, once they are reported.
	states map[string]quotav1alpha1.ChildState
	// namespaces are those that the pool has by spec.namespaces, nil while that is not known.
	namespaces *tenants.Report
	// needs is what the children need together.
	needs amount.List
}

// gather reads all that a round is decided on, and takes it into the ledger.
func (r *Reconciler) gather(ctx context.Context, p *quotav1alpha1.QuotaPool) (*scope, error) {
	s := &scope{p: p, now: r.Clock.Now(), restore: r.Trees.Last(), torn: map[string]string{}}
	s.restored = p.Status.Restored < s.restore
	var err error
	if s.children, err = r.childrenOf(ctx, r, p, r.cached(p)...); err != nil {
		return nil, err
	}
	if err := r.stand(ctx, s); err != nil {
		return nil, err
	}
	if r.Tenants != nil {
		if s.namespaces, err = r.Tenants.Report(ctx, p.Name); err != nil {
			return nil, err
		}
	}
	if err := r.rebuild(ctx, s); err != nil {
		return nil, err
	}
	if err := r.dismiss(ctx, s); err != nil {
		return nil, err
	}
	for _, c := range list(s.children) {
		s.pool.Hear(c.Child)
	}
	if err := r.enter(ctx, s); err != nil {
		return nil, err
	}
	if s.pool.Outgrows(s.member) {
		s.member = s.member.Renew(ledger.Epoch(s.now))
	}
	return s, nil
}

// stand finds out what the pool is to its parent, and opens the ledger with the budget that this gives.
func (r *Reconciler) stand(ctx context.Context, s *scope) error {
	if err := r.followNodes(ctx, s.p); err != nil {
		return err
	}
	p, own, epoch := s.p, ownBudget(s.p), ledger.Epoch(s.now)
	entries := make(map[string]pool.Entry, len(p.Status.Children))
	for i := range p.Status.Children {
		entries[string(p.Status.Children[i].Key)] = pool.EntryOf(&p.Status.Children[i])
	}
	parents, err := r.parents(ctx, p)
	if err != nil {
		return err
	}
	parent, err := r.parentOf(ctx, p, parents, entries)
	if err != nil {
		return err
	}
	counting, err := r.counting(ctx, s, entries)
	if err != nil {
		return err
	}
	finder := membership.Finder{Cached: r, Live: r.Live}
	var trouble string
	s.member, trouble, err = finder.Find(ctx, &membership.Child{
		Key: pool.KeyOf(p.Name), UID: string(p.UID),
		Pool: parent, Stored: p.Status.Pool,
		Own: own, Lost: p.Status.Revision == 0, Epoch: epoch, Counting: counting,
	})
	if err != nil {
		return err
	}
	s.halted, s.lagging = unusable(p, parents), membership.Lagging(s.member, trouble)
	if waiting := membership.Waiting(parent, s.member, trouble); s.halted.reason == "" && waiting != "" {
		s.halted = obstacle{quotav1alpha1.ReasonPoolPending, waiting}
	}
	if s.halted.reason != "" && len(p.Status.Hard) > 0 {
		own = amount.Saturate(p.Status.Hard, amount.Down)
	}
	s.pool = pool.New(string(p.UID), s.member.Budget(own), p.Status.Revision, epoch, entries)
	return nil
}

// counting says in words whom a pool has yet to count that has rebuilt its ledger, or nothing. It lists live only if
// the cache shows nobody.
func (r *Reconciler) counting(ctx context.Context, s *scope, entries map[string]pool.Entry) (string, error) {
	if !pool.MembershipOf(s.p.Status.Pool).Floored() {
		return "", nil
	}
	ledger := pool.New(string(s.p.UID), nil, s.p.Status.Revision, 0, entries)
	for _, c := range s.children {
		ledger.CountBeside(c.Child)
	}
	key := missing(s.children, ledger)
	if key == "" {
		live, err := r.childrenOf(ctx, r.Live, s.p)
		if err != nil {
			return "", err
		}
		key = missing(live, ledger)
	}
	if key == "" {
		return "", nil
	}
	return key + " has yet to be counted here", nil
}

// missing returns the key of a child that names a pool and is not counted in its ledger, "" if there is none.
func missing(children map[string]*child, ledger *pool.Pool) string {
	for _, c := range list(children) {
		if c.names && c.refused == "" && !ledger.Counts(c.Child) {
			return c.Key
		}
	}
	return ""
}

// parentOf returns the pool that a pool is to stand in now: the one that its spec names, or, while it still counts what
// a child has taken to another pool, or would close a circle, the one that it stands in. In a circle each would count
// what the others count, and that again.
func (r *Reconciler) parentOf(
	ctx context.Context, p *quotav1alpha1.QuotaPool, parents validate.Parents, entries map[string]pool.Entry,
) (string, error) {
	own, parent := pool.MembershipOf(p.Status.Pool), string(p.Spec.Parent)
	switch {
	case parents.InCircle(quotav1alpha1.PoolName(p.Name)):
		return own.Name, nil
	case !own.Stands() || own.Name == parent:
		return parent, nil
	}
	ledger := pool.New(string(p.UID), nil, p.Status.Revision, 0, entries)
	live, err := r.each(ctx, p, ledger.Keys())
	for _, c := range live {
		if c != nil && ledger.Loses(c.Child) {
			return own.Name, err
		}
	}
	return parent, err
}

// followNodes notes what the nodes of the clusters can run that the budget follows. It is stored with the ledger that
// is made of it.
func (r *Reconciler) followNodes(ctx context.Context, p *quotav1alpha1.QuotaPool) error {
	rule := p.Spec.Capacity
	if rule == nil {
		p.Status.Capacity = nil
		return nil
	}
	clusters, err := r.Clusters.List(ctx, r, client.UnsafeDisableDeepCopy)
	if err != nil {
		return err
	}
	reports, err := hubcapacity.Reports(ctx, r, r.Clusters)
	if err != nil {
		return err
	}
	selected := hubcapacity.Counted(ctx, r.Members, &rule.Placement, clusters)
	p.Status.Capacity = capacity.StatusOf(capacity.Names(p.Spec.Hard, &rule.Capacity), selected, reports)
	return nil
}

// rebuild rebuilds a ledger that was lost, or put back, by a live list: what a cache shows of that may be old. If
// another ledger of the hub was put back, so was this one.
func (r *Reconciler) rebuild(ctx context.Context, s *scope) error {
	if !s.restored && !s.pool.Lost(asPure(s.children)) {
		return nil
	}
	live, err := r.childrenOf(ctx, r.Live, s.p)
	if err != nil {
		return err
	}
	s.children = live
	if pure := asPure(live); s.restored || s.pool.Lost(pure) {
		s.pool.Rebuild(pure)
		s.rebuilt = true
		r.memoryOf(s.p.UID).heard = false // some may have forgotten that they stand in it
		if s.member.Stands() {
			s.member = s.member.Floor(ledger.Epoch(s.now))
		}
	}
	return nil
}

// dismiss ends the entries of those that have left, or are gone, by a live read: after a restore a cache may show one
// leave that never did.
func (r *Reconciler) dismiss(ctx context.Context, s *scope) error {
	var away []string
	for _, key := range s.pool.Keys() {
		c := s.children[key]
		if e, _ := s.pool.Entry(key); c == nil || c.UID != e.UID || !s.contains(c) {
			away = append(away, key)
		}
	}
	live, err := r.each(ctx, s.p, away)
	if err != nil {
		return err
	}
	for _, key := range away {
		if err := r.keepTorn(ctx, s, key, live[key]); err != nil {
			return err
		}
		if s.torn[key] == "" {
			s.dismiss(key, live[key])
		}
	}
	return r.release(ctx, s)
}

// dismiss ends the entry of a child that has left, or is gone, by what a live read has found; nil if that is nothing.
func (s *scope) dismiss(key string, found *child) {
	switch {
	case found == nil:
		s.pool.Gone(key, nil)
		delete(s.children, key)
	case s.pool.Left(found.Child):
	case s.pool.Gone(key, found.Child):
		s.children[key] = found
	case found.Stands() && !s.contains(found):
		s.moved = append(s.moved, found)
	}
}

// release lets go of what children have taken to other pools, as far as it is counted there. One list shows what all
// pools have stored at one instant, which a cache need not.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if len(s.moved) == 0 {
		r.moving.Delete(s.p.Name)
		return nil
	}
	r.moving.Store(s.p.Name, true)
	var all quotav1alpha1.QuotaPoolList
	if err := r.Live.List(ctx, &all); err != nil {
		return fmt.Errorf("listing QuotaPools: %w", err)
	}
	tree := pool.TreeOf(all.Items)
	s.moved = slices.DeleteFunc(s.moved, func(c *child) bool { return s.pool.Moved(c.Child, s.member, tree) })
	return nil
}

// keepTorn notes a pool that is gone, or was created again, while others still stand in it: somebody has taken its
// finalizer off. What it gave them is in use, and they may go on to use all of it.
func (r *Reconciler) keepTorn(ctx context.Context, s *scope, key string, found *child) error {
	e, _ := s.pool.Entry(key)
	if !pool.IsPool(key) || found != nil && found.UID == e.UID {
		return nil
	}
	inhabitants, err := r.inhabitants(ctx, key, e.UID)
	if len(inhabitants) > 0 {
		s.torn[key] = shares.Abbreviated(inhabitants)
	}
	return err
}

// contains says whether a child stands in this pool.
func (s *scope) contains(c *child) bool {
	return c.Stands() && c.Membership.UID == string(s.p.UID)
}

// coming returns those that have announced themselves and are in no ledger yet, in the order in which they come in.
func (s *scope) coming() []*child {
	var coming []*child
	for _, c := range list(s.children) {
		_, present := s.pool.Entry(c.Key)
		switch {
		case present && s.pool.Knows(c.Child), !c.names && !s.pool.Awaits(c.Child):
		case c.refused != "" && c.names:
			s.refused = append(s.refused, c.Key)
		case s.pool.Awaits(c.Child):
			coming = append(coming, c)
		default:
			s.expected = append(s.expected, c.Key)
		}
	}
	slices.SortFunc(coming, func(a, b *child) int { return pool.ByTurn(a.Child, b.Child) })
	return coming
}

// enter makes entries for those that have announced themselves, as a live read shows them, as long as there is room.
// What others have is counted all the same.
func (r *Reconciler) enter(ctx context.Context, s *scope) error {
	coming, others := s.invited(s.coming())
	live, err := r.liveOf(ctx, s.p, coming)
	if err != nil {
		return err
	}
	for _, c := range coming {
		found := live[c.Key]
		if found == nil || !s.pool.Enter(found.Child) {
			s.expected = append(s.expected, c.Key)
			continue
		}
		s.children[c.Key] = found
	}
	s.leaveOut(others)
	slices.Sort(s.expected)
	return nil
}

// leaveOut counts what those have for which there is no room.
func (s *scope) leaveOut(others []*child) {
	for _, c := range others {
		if !s.pool.CountBeside(c.Child) {
			s.expected = append(s.expected, c.Key)
			continue
		}
		s.leftOut = append(s.leftOut, c.Key)
		if s.pool.Unsure(c.Child) {
			s.unsure = append(s.unsure, c.Key)
		}
	}
	slices.Sort(s.leftOut)
	slices.Sort(s.unsure)
}

// invited returns which of those that come are to have an entry now, and the others: one that has an entry already is
// counted anew in any case.
func (s *scope) invited(coming []*child) (invited, others []*child) {
	room := s.pool.Most - s.pool.Ledger.Len()
	if !s.p.DeletionTimestamp.IsZero() {
		room = 0
	}
	for _, c := range coming {
		_, present := s.pool.Entry(c.Key)
		switch {
		case present:
			invited = append(invited, c)
		case room > 0:
			invited = append(invited, c)
			room--
		default:
			others = append(others, c)
		}
	}
	return invited, others
}

// fewReads is how many children are read each by itself. More than that are found in one list.
const fewReads = 20

// liveOf reads children past the cache, by key; those that are gone are missing.
func (r *Reconciler) liveOf(
	ctx context.Context, p *quotav1alpha1.QuotaPool, children []*child,
) (map[string]*child, error) {
	if len(children) > fewReads {
		return r.childrenOf(ctx, r.Live, p)
	}
	keys := make([]string, len(children))
	for i, c := range children {
		keys[i] = c.Key
	}
	return r.each(ctx, p, keys)
}

// each reads children past the cache, each by itself, by key; those that are gone are nil.
func (r *Reconciler) each(ctx context.Context, p *quotav1alpha1.QuotaPool, keys []string) (map[string]*child, error) {
	var mutex sync.Mutex
	live := make(map[string]*child, len(keys))
	err := members.ForEach(keys, func(key string) error {
		found, err := r.live(ctx, p, key)
		mutex.Lock()
		defer mutex.Unlock()
		live[key] = found
		return err
	})
	return live, err
}

// steer moves the parts of children.
func (r *Reconciler) steer(ctx context.Context, s *scope) error {
	if s.halted.reason != "" || s.member.Frozen() || !s.p.DeletionTimestamp.IsZero() || s.rebuilt {
		return nil
	}
	memory := r.memoryOf(s.p.UID)
	heard, err := r.heard(ctx, s)
	if err != nil {
		return err
	}
	memory.heard = memory.heard || heard
	s.split = splitOf(&s.p.Spec)
	for _, key := range s.pool.Keys() {
		s.standings = append(s.standings, s.standing(key, memory))
	}
	in := &round.Input{ID: string(s.p.UID), Split: s.split, Uncounted: !heard, Children: s.standings}
	steered := round.Steer(s.pool.Ledger, in)
	s.limits, s.needs = steered.Limits, steered.Needs
	return nil
}

// heard says whether this pool may raise anybody. Until this process has seen it once, all that name it have to be
// counted, by a live list: they may hold what a former pool of its name gave them.
func (r *Reconciler) heard(ctx context.Context, s *scope) (bool, error) {
	if r.memoryOf(s.p.UID).heard {
		return true, nil
	}
	if len(s.expected) > 0 {
		return false, nil // as the list would show
	}
	live, err := r.childrenOf(ctx, r.Live, s.p)
	return err == nil && missing(live, s.pool) == "", err
}

// standing returns how a child stands to the pool. One that leaves by itself, or cannot act, keeps what it has.
func (s *scope) standing(key string, memory *memory) round.Standing {
	c := s.children[key]
	if c == nil || !s.pool.Knows(c.Child) {
		return round.Standing{Name: key, UID: key, Pinned: true}
	}
	demand, shapes := pool.WithAlsoNeeded(c.demand, c.alsoNeeded, shapesOf(c.shapes))
	return round.Standing{
		Name: key, UID: c.UID, Leaving: c.leaving && c.names, Terms: terms(s.p, c),
		Used: c.uses(s.pool.Ledger.Budget()), Demand: c.within(demand), Shapes: shapes,
		CanRaise: c.names && c.refused == "" && !c.stalled, Pinned: !c.names || c.refused != "" || c.stalled || c.Unknown,
		DampedFor: max(0, damping(&s.p.Spec)-s.now.Sub(memory.moved[key])),
	}
}

// parents returns which pool is above each, as their specs say.
func (r *Reconciler) parents(ctx context.Context, p *quotav1alpha1.QuotaPool) (validate.Parents, error) {
	var pools quotav1alpha1.QuotaPoolList
	if err := r.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	parents := validate.ParentsOf(pools.Items)
	parents[quotav1alpha1.PoolName(p.Name)] = p.Spec.Parent
	return parents, nil
}

// memoryOf returns what is remembered of a pool. Rounds use it one after the other.
func (r *Reconciler) memoryOf(uid types.UID) *memory {
	known, _ := r.memories.LoadOrStore(uid, &memory{moved: map[string]time.Time{}})
	return known.(*memory)
}
