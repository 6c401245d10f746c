package pool

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/validate"
)

// scope is one round over one pool.
type scope struct {
	p   *quotav1alpha1.QuotaPool
	now time.Time
	// member is what the pool is to its parent from this round on.
	member pool.Membership
	// halted says in a reason and in words why nothing is raised or lowered, or is empty.
	halted obstacle
	pool   *pool.Pool
	// children are those that name the pool or are in it, by key.
	children map[string]*child
	// expected are those that are in no ledger yet and are to be, and refused those that are not to be.
	expected, refused []string
	rebuilt           bool
	// split is how the budget is split, standings how the children stand, and limits what was decided of them.
	split     round.Split
	standings []round.Standing
	limits    map[string]round.Limits
	// needs is what the children need together.
	needs amount.List
}

// obstacle is why something does not go on.
type obstacle struct{ reason, message string }

// gather reads all that a round is decided on, and takes it into the ledger.
func (r *Reconciler) gather(ctx context.Context, p *quotav1alpha1.QuotaPool) (*scope, error) {
	s := &scope{p: p, now: r.Clock.Now()}
	if err := r.stand(ctx, s); err != nil {
		return nil, err
	}
	var err error
	if s.children, err = r.children(ctx, r, p, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if err := r.rebuild(ctx, s); err != nil {
		return nil, err
	}
	if err := r.dismiss(ctx, s); err != nil {
		return nil, err
	}
	for _, c := range list(s.children) {
		s.pool.Settle(c.Child)
	}
	return s, r.enter(ctx, s)
}

// stand finds out what the pool is to its parent, and opens the ledger with the budget that this gives.
func (r *Reconciler) stand(ctx context.Context, s *scope) error {
	p, own, epoch := s.p, ownBudget(s.p.Spec.Hard, s.p.Spec.Reserve), ledger.Epoch(s.now)
	finder := membership.Finder{Cached: r, Live: r.Live}
	var trouble string
	var err error
	s.member, trouble, err = finder.Find(ctx, &membership.Child{
		Key: pool.KeyOf(p.Name), UID: string(p.UID), Generation: p.Generation,
		Pool: string(p.Spec.Parent), Stored: p.Status.Pool,
		Own: own, Lost: p.Status.Revision == 0, Epoch: epoch,
	})
	if err != nil {
		return err
	}
	if s.halted, err = r.haltedBy(ctx, p); err != nil {
		return err
	}
	if waiting := membership.Waiting(string(p.Spec.Parent), s.member, trouble); s.halted.reason == "" && waiting != "" {
		s.halted = obstacle{quotav1alpha1.ReasonPoolPending, waiting}
	}
	if s.halted.reason != "" && len(p.Status.Hard) > 0 {
		own = amount.Saturate(p.Status.Hard, amount.Down)
	}
	entries := make(map[string]pool.Entry, len(p.Status.Children))
	for i := range p.Status.Children {
		entries[string(p.Status.Children[i].Key)] = pool.EntryOf(&p.Status.Children[i])
	}
	s.pool = pool.New(string(p.UID), s.member.Budget(own), p.Status.Revision, epoch, entries)
	return nil
}

// rebuild rebuilds a ledger that was lost, or put back, by a live list: what a cache shows of that may be old.
func (r *Reconciler) rebuild(ctx context.Context, s *scope) error {
	if !s.pool.Lost(asPure(s.children)) {
		return nil
	}
	live, err := r.children(ctx, r.Live, s.p)
	if err != nil {
		return err
	}
	s.children = live
	if pure := asPure(live); s.pool.Lost(pure) {
		s.pool.Rebuild(pure)
		s.rebuilt = true
		if s.member.Stands() {
			s.member = s.member.Floor(ledger.Epoch(s.now))
		}
	}
	return nil
}

// dismiss ends the entries of those that have left, or are gone by a live read.
func (r *Reconciler) dismiss(ctx context.Context, s *scope) error {
	for _, key := range s.pool.Keys() {
		c := s.children[key]
		if c != nil && s.pool.Left(c.Child) {
			continue
		}
		if e, _ := s.pool.Entry(key); c != nil && c.UID == e.UID && s.contains(c) {
			continue
		}
		found, err := r.live(ctx, s.p, key)
		switch {
		case err != nil:
			return err
		case found == nil:
			s.pool.Gone(key, nil)
			delete(s.children, key)
		case !s.pool.Left(found.Child) && s.pool.Gone(key, found.Child):
			s.children[key] = found
		}
	}
	return nil
}

// contains says whether a child stands in this pool.
func (s *scope) contains(c *child) bool {
	return c.Stands() && c.Membership.UID == string(s.p.UID)
}

// enter makes entries for those that have announced themselves, as a live read shows them.
func (r *Reconciler) enter(ctx context.Context, s *scope) error {
	for _, c := range list(s.children) {
		_, present := s.pool.Entry(c.Key)
		switch {
		case present && s.pool.Knows(c.Child), !c.names && !s.announced(c):
		case c.refused != "" && c.names:
			s.refused = append(s.refused, c.Key)
		case s.announced(c) && s.takes(present):
			if err := r.count(ctx, s, c); err != nil {
				return err
			}
		default:
			s.expected = append(s.expected, c.Key)
		}
	}
	return nil
}

// count makes an entry for a child that has announced itself, as a live read shows it.
func (r *Reconciler) count(ctx context.Context, s *scope, c *child) error {
	found, err := r.live(ctx, s.p, c.Key)
	if err != nil {
		return err
	}
	if found == nil || !s.pool.Enter(found.Child) {
		s.expected = append(s.expected, c.Key)
		return nil
	}
	s.children[c.Key] = found
	return nil
}

// mostChildren is how many children the schema of the status has room for.
const mostChildren = 2000

// takes says whether the pool takes in a child, one that has an entry already in any case.
func (s *scope) takes(present bool) bool {
	return s.p.DeletionTimestamp.IsZero() && (present || s.pool.Ledger.Len() < mostChildren)
}

// announced says whether a child stands in this pool, and waits to be counted.
func (s *scope) announced(c *child) bool {
	return s.contains(c) && c.Revision == 0
}

// steer moves the parts of children.
func (r *Reconciler) steer(ctx context.Context, s *scope) error {
	if s.halted.reason != "" || !s.p.DeletionTimestamp.IsZero() || s.rebuilt {
		return nil
	}
	heard, err := r.heard(ctx, s)
	if err != nil {
		return err
	}
	s.split = splitOf(&s.p.Spec)
	for _, key := range s.pool.Keys() {
		s.standings = append(s.standings, r.standing(s, key))
	}
	in := &round.Input{ID: string(s.p.UID), Split: s.split, Uncounted: !heard, Children: s.standings}
	before := s.pool.Ledger.Revision()
	steered := round.Steer(s.pool.Ledger, in)
	s.limits, s.needs = steered.Limits, steered.Needs
	if heard && s.pool.Ledger.Revision() > before {
		r.memoryOf(s.p.UID).raised = true
	}
	return nil
}

// heard says whether this pool may raise anybody. While it has raised nobody, as far as this process knows, all that
// name it have to be entered, by a live list: they may hold what a former pool of its name gave them.
func (r *Reconciler) heard(ctx context.Context, s *scope) (bool, error) {
	if r.memoryOf(s.p.UID).raised {
		return true, nil
	}
	live, err := r.children(ctx, r.Live, s.p)
	if err != nil {
		return false, err
	}
	for _, c := range live {
		if e, entered := s.pool.Entry(c.Key); c.names && c.refused == "" && (!entered || e.UID != c.UID) {
			return false, nil
		}
	}
	return true, nil
}

// standing returns how a child stands to the pool. One that leaves by itself, or cannot act, keeps what it has.
func (r *Reconciler) standing(s *scope, key string) round.Standing {
	c := s.children[key]
	if c == nil || !s.pool.Knows(c.Child) {
		return round.Standing{Name: key, UID: key, Pinned: true}
	}
	memory := r.memoryOf(s.p.UID)
	demand, shapes := pool.WithKept(c.demand, c.kept, shapesOf(c.shapes))
	return round.Standing{
		Name: key, UID: c.UID, Leaving: c.leaving && c.names, Terms: terms(s.p, c),
		Used: c.uses(s.pool.Ledger.Budget()), Demand: c.within(demand), Shapes: shapes,
		CanRaise: c.names && c.refused == "" && !c.stalled, Pinned: !c.names || c.refused != "" || c.stalled || c.Unknown,
		DampedFor: max(0, damping(&s.p.Spec)-s.now.Sub(memory.moved[key])),
	}
}

func shapesOf(stored []quotav1alpha1.DemandShape) []round.Shape {
	shapes := make([]round.Shape, len(stored))
	for i, s := range stored {
		shapes[i] = round.Shape{Amounts: amount.Saturate(s.Amounts, amount.Up), Unit: amount.Saturate(s.Unit, amount.Up)}
	}
	return shapes
}

// splitOf returns how the budget of a pool is split. Its children keep no respite: their own members do, and kept at
// each level it would add up to room that nobody can use.
func splitOf(spec *quotav1alpha1.QuotaPoolSpec) round.Split {
	split := round.Split{
		Static: spec.Rebalance.Mode == quotav1alpha1.RebalanceStatic, Options: pace.Options(true),
		Grains: amount.Saturate(spec.Distribution.Granularity, amount.Down),
	}
	if percent := spec.Rebalance.HeadroomPercent; percent != nil {
		split.Options.HeadroomPercent = int64(*percent)
	}
	return split
}

// damping returns the least time between two moves of a child's part for headroom alone.
func damping(spec *quotav1alpha1.QuotaPoolSpec) time.Duration {
	if seconds := spec.Rebalance.DampingSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return pace.DampingOf(true)
}

// haltedBy says why the spec of a pool cannot be acted on; nothing if it can. A pool below a circle goes on with what
// it has, and so does one above pools that are too many.
func (r *Reconciler) haltedBy(ctx context.Context, p *quotav1alpha1.QuotaPool) (obstacle, error) {
	problems := validate.Pool(&p.Spec)
	var pools quotav1alpha1.QuotaPoolList
	if err := r.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return obstacle{}, fmt.Errorf("listing QuotaPools: %w", err)
	}
	parents, name := validate.Parents{}, quotav1alpha1.PoolName(p.Name)
	for i := range pools.Items {
		parents[quotav1alpha1.PoolName(pools.Items[i].Name)] = pools.Items[i].Spec.Parent
	}
	parents[name] = p.Spec.Parent
	above, circle := parents.Above(name)
	within := circle && (len(above) == 0 || parents[above[len(above)-1]] == name)
	if within || !circle && len(above) >= validate.MostLevels {
		problems = append(problems, parents.Problems(name)...)
	}
	if len(problems) == 0 {
		return obstacle{}, nil
	}
	return obstacle{quotav1alpha1.ReasonInvalidSpec, problems.ToAggregate().Error()}, nil
}

// memory is what the hub manager remembers of one pool. It is no part of the protocol: a restarted one goes on without
// it.
type memory struct {
	// raised says that this process has raised somebody in it, or has seen that all are entered.
	raised bool
	// ready is the reason of Ready that an event has told last.
	ready string
	// stored is when the status was written last.
	stored time.Time
	// moved is when the target of a child changed last.
	moved map[string]time.Time
}

// note remembers which targets were moved by a round that is stored.
func (m *memory) note(limits map[string]round.Limits, now time.Time) {
	for key, byName := range limits {
		for _, limit := range byName {
			if limit.Moves() && limit.From > 0 {
				m.moved[key] = now
			}
		}
	}
}

// memoryOf returns what is remembered of a pool. Rounds use it one after the other.
func (r *Reconciler) memoryOf(uid types.UID) *memory {
	known, _ := r.memories.LoadOrStore(uid, &memory{moved: map[string]time.Time{}})
	return known.(*memory)
}
