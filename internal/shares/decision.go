package shares

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// Decision is what a round has decided.
type Decision struct {
	// Ledger is to be stored with one compare-and-swap, before anything is written to a child.
	Ledger *ledger.Ledger
	// SpecRevision is the first revision that may have been decided on this spec, 0 while nothing was.
	SpecRevision int64
	// Needs is what the children need together, were the budget to hold it, of the names of which that is known.
	Needs amount.List
	// Rebuilt says that a child was told something by another ledger than this one, which was restored from the past then.
	Rebuilt bool
	// Removed says that every child has confirmed what removal asks for.
	Removed bool
	// Verdicts are what was decided of each child that is selected or has an entry, by name. Those without an entry have
	// no State.
	Verdicts []Verdict
	// Totals are the sums over all children, by resource name of the budget.
	Totals round.Totals
	// Fleet is what shares tell of the whole budget, empty where no demand moves limits.
	Fleet Fleet
	// Conditions are all of the round: Ready first, the others only while they are true. Ready says whether the first one
	// is: the budget is kept, and every child enforces a share of this spec.
	Conditions []Condition
	Ready      bool

	// exact is when to look again, and retries says that something is to be tried again soon: see Next.
	exact   time.Duration
	retries bool
}

// Verdict is what was decided of one child.
type Verdict struct {
	Name string
	// UID is that of the object which the entry is granted to.
	UID string
	Finding
	// Read says that the child could be read, and Reported that its share says what it uses.
	Read, Reported bool
	// Abandoned says that its share was deleted, and that its agent does not let the share go.
	Abandoned bool
	// Removal is what the share of a child that leaves was told shall become of the ResourceQuota.
	Removal quotav1alpha1.RemovalPolicy
	// Order is what is to be written to the child, Admission and Existing what its share tells its agents.
	Order     Order
	Admission quotav1alpha1.Admission
	Existing  quotav1alpha1.ExistingQuotas
	// TakeOver is the ResourceQuota that the agents may take over, nil if there is none.
	TakeOver *TakeOver
	// MostAllocatable is what its share tells its agents that its nodes can come to have.
	MostAllocatable amount.List
	// Decided says that the entry took a new revision in this round, and Confirms that it did so for no other reason than
	// to be confirmed.
	Decided, Confirms bool
	// From and To are the target before and after this round if it has moved, and Reasons why. The first share of a child
	// is no move.
	From, To amount.List
	Reasons  map[corev1.ResourceName]allocate.Reason
	// Gave are the names of which the target has gone down for what others need, and not for their headroom alone.
	Gave []corev1.ResourceName
	// Unheard are the resources of which the child is expected to say for the first time what it uses.
	Unheard []corev1.ResourceName
}

// Order is what is to be written to a child after the ledger is stored.
type Order string

const (
	// OrderNone means that nothing is written, not even a marker.
	OrderNone Order = ""
	// OrderMark means that the object is marked, and its share is left alone for now.
	OrderMark Order = "Mark"
	// OrderKeep means that the object is marked, and its share is as it shall be.
	OrderKeep Order = "Keep"
	// OrderCreate means that the share is to be created.
	OrderCreate Order = "Create"
	// OrderUpdate means that the share is to be updated.
	OrderUpdate Order = "Update"
	// OrderTellRemoval means that the share is to be told what shall become of the ResourceQuota.
	OrderTellRemoval Order = "TellRemoval"
	// OrderRemove means that the share is to be deleted.
	OrderRemove Order = "Remove"
)

// Leaves says whether the order is part of removing a share.
func (o Order) Leaves() bool { return o == OrderTellRemoval || o == OrderRemove }

// decision sums up the round.
func (r *Round) decision() *Decision {
	d := &Decision{
		Ledger: r.ledger, Needs: r.needs, SpecRevision: r.in.SpecRevision, Rebuilt: r.learned == rebuilding,
		Removed: r.in.Removing && len(r.unseen) == 0 && r.ledger.Len() == 0,
	}
	if d.SpecRevision == 0 && !r.halted && len(r.unseen) == 0 {
		d.SpecRevision = r.in.Revision + 1
	}
	for _, c := range r.children {
		d.Verdicts = append(d.Verdicts, r.verdict(c))
	}
	d.Totals = r.totals(d.Verdicts)
	if !r.in.Split.Static {
		d.Fleet = Fleet{Budget: r.reach(), Used: d.Totals.Used, Waiting: r.askers()}
	}
	for i, c := range r.children {
		c.misinformed = c.share != nil && !c.informed(&d.Fleet)
		d.Verdicts[i].Order = r.order(c, &d.Fleet)
	}
	return d
}

// informed says whether the share of a child tells of what matters to it now: of usage if it asks for more itself, and
// of nodes that may still come if pods of it wait for one.
func (c *child) informed(fleet *Fleet) bool {
	return (!c.wants() || sameUsage(&c.share.Fleet, fleet)) && (!c.waitsForNodes() || c.knowsGrowth())
}

// sameUsage says whether two tell of the same usage, and of the same children that wait.
func sameUsage(a, b *Fleet) bool {
	return a.Used.Equal(b.Used) && slices.Equal(a.Waiting, b.Waiting)
}

// reach returns what requests may ask for at all.
func (r *Round) reach() amount.List {
	if r.in.Reach != nil {
		return r.in.Reach
	}
	return r.ledger.Budget()
}

func (r *Round) verdict(c *child) Verdict {
	e, known := r.entry(c)
	before := r.known[c.Name]
	v := Verdict{
		Name: c.Name, UID: c.uid, Read: c.read, Reported: c.read && c.share != nil,
		Admission: r.admissionOf(c), Existing: r.in.Existing, TakeOver: c.takeOver,
		MostAllocatable: c.MostAllocatable,
		Confirms:        c.confirms, Reasons: r.reasons(c), Unheard: c.unheard,
		Abandoned: c.read && c.deleting && c.agent == absent,
	}
	if !known {
		return v
	}
	v.Finding = r.stateOf(c, e)
	v.Removal = r.removalOf(c)
	v.Decided = e.Revision > before.Revision
	if v.Decided && before.Revision > 0 && !e.Target.Equal(before.Target) {
		v.From, v.To, v.Gave = before.Target, e.Target, r.gave(c)
	}
	return v
}

// removalOf returns what the share of a child that leaves was told shall become of the ResourceQuota. The share knows
// that better than the ledger as long as it is there, and one that is written again is about to be told otherwise.
func (r *Round) removalOf(c *child) quotav1alpha1.RemovalPolicy {
	switch {
	case c.Selected:
		return ""
	case c.share == nil && c.Entry == nil:
		return ""
	case c.share == nil:
		return c.Entry.Removal
	case r.in.Removing || r.ledger.Returned(c.Name, c.report):
		return c.share.Removal
	}
	return ""
}

// reachable says whether a write to a child may be of use now.
func (c *child) reachable() bool {
	return c.read && c.Past.StalledFor <= 0 && (c.share != nil || !c.Reading.Watched)
}

// order returns what is to be written to a child.
func (r *Round) order(c *child, fleet *Fleet) Order {
	revision := r.ledger.RevisionOf(c.Name)
	switch {
	case revision == 0 || !c.reachable():
		return OrderNone
	case r.letsGo(c):
		return c.removalOrder()
	case c.released, c.misfit != "", c.share == nil && len(r.unseen) > 0:
		return OrderMark
	case c.share == nil:
		return OrderCreate
	case c.share.Deleting || r.upToDate(c, revision, fleet):
		return OrderKeep
	}
	return OrderUpdate
}

// letsGo says whether the share of a child is to be deleted now.
func (r *Round) letsGo(c *child) bool {
	return !c.Selected && c.share != nil && !r.halted && (r.in.Removing || r.ledger.Returned(c.Name, c.report))
}

// removalOrder returns the next step by which a share is removed. It is deleted once the ledger notes what it was told:
// a share that somebody else has deleted before was told nothing.
func (c *child) removalOrder() Order {
	switch {
	case c.share.Removal == "":
		return OrderTellRemoval
	case c.share.Deleting:
		return OrderKeep
	}
	return OrderRemove
}

// upToDate says whether the share of a child says what it should. A share of a higher revision is not this round's to
// write. One that is about to refuse somebody with words that are no longer true is out of date: usage, and which
// children wait, go on changing, so a child is told again after a while, and only if it matters to it. Of the budget it
// is told in any case: it does not ask for what is more than all of the budget.
func (r *Round) upToDate(c *child, revision int64, fleet *Fleet) bool {
	share := c.share
	if share.Revision != revision {
		return share.Revision > revision
	}
	return share.Owner == c.uid && !share.ToldRemoval && !share.Pinging &&
		equality.Semantic.DeepEqual(share.Admission, r.admissionOf(c)) &&
		equality.Semantic.DeepEqual(share.Existing, r.in.Existing) &&
		equality.Semantic.DeepEqual(share.TakeOver, c.takeOver) &&
		share.Fleet.Budget.Equal(fleet.Budget) && (!c.misinformed || c.Past.ToldFor > 0)
}

// admissionOf returns what the agents of a child do for requests that do not fit: none is held where no demand moves
// the limit.
func (r *Round) admissionOf(c *child) quotav1alpha1.Admission {
	if r.in.Split.Static || !c.Selected {
		return quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionOff, Poke: r.in.Admission.Poke}
	}
	return r.in.Admission
}

// askers returns the children that ask for more than they have, at most as many as a message names.
func (r *Round) askers() []string {
	var names []string
	for _, c := range r.children {
		if c.wants() && len(names) < namesLimit {
			names = append(names, c.Name)
		}
	}
	return names
}

// totals sums up what the children have.
func (r *Round) totals(verdicts []Verdict) round.Totals {
	tallies := make([]round.Tally, len(r.children))
	for i, c := range r.children {
		tallies[i] = round.Tally{
			Selected: c.Selected && !r.withoutPart(&verdicts[i]), Settled: verdicts[i].State == quotav1alpha1.ClusterSettled,
		}
		if verdicts[i].State != "" {
			tallies[i].Used, tallies[i].Demand = c.snapshot()
		}
	}
	return round.Total(r.ledger, tallies)
}

// withoutPart says whether a child has no part of the budget, and is to have none, since it lacks the namespace.
func (r *Round) withoutPart(v *Verdict) bool {
	return r.in.Scattered && v.State == quotav1alpha1.ClusterNotReady &&
		v.Why.Reason == quotav1alpha1.ReasonNamespaceMissing
}

// gave returns the names of which the limit of a child goes down for what others need.
func (r *Round) gave(c *child) (names []corev1.ResourceName) {
	for name, limit := range r.limits[c.Name] {
		if limit.Yields {
			names = append(names, name)
		}
	}
	return names
}

// reasons returns why limits of a child move, by resource name; those of one that leaves do so since it does.
func (r *Round) reasons(c *child) map[corev1.ResourceName]allocate.Reason {
	var reasons map[corev1.ResourceName]allocate.Reason
	for name, limit := range r.limits[c.Name] {
		if !c.Selected || !limit.Moves() {
			continue
		}
		if reasons == nil {
			reasons = map[corev1.ResourceName]allocate.Reason{}
		}
		reasons[name] = limit.Reason
	}
	return reasons
}

// snapshot returns what a child uses and demands as far as is known: what its share says, or what was stored.
func (c *child) snapshot() (used, demand amount.List) {
	switch {
	case c.read && c.share != nil:
		return c.share.Report.Used, c.share.Demand
	case c.Entry != nil:
		return c.Entry.Used, c.Entry.Demand
	}
	return nil, nil
}
