package shares

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// MostChildren is how many children the schema of the status has room for. The placement selects half of that by name,
// so that all of those may leave while as many others join.
const MostChildren = 2000

// Round is one round over one budget.
type Round struct {
	in *Input
	// halted says that nothing is decided, since the spec cannot be acted on, and selects whether it selects any child.
	halted, selects bool
	// ledger is over Input.Budget. known are its entries as they were before the round.
	ledger *ledger.Ledger
	known  map[string]ledger.Entry
	// learned says what the ledger knows of those that it has told.
	learned learned
	// knowsWhom says whether the ledger knows whom it has told, so that the marker of anybody else is of another budget.
	knowsWhom bool
	// begins says whether the ledger gives revisions from now on. A ledger that was lost, and that cannot be acted upon
	// yet, gives none: its revision stays 0, which tells the next round that it was lost.
	begins bool
	// marker is the highest revision that any marker notes, and names are those of all objects, by UID.
	marker int64
	names  map[string]string
	// children are those that the round concerns, by name.
	children []*child
	byName   map[string]*child
	// unseen are the expected children that were not read.
	unseen []string
	// limits are what was decided of the limits of the children, by name, and waits how long raises wait at most for what
	// children use, by resource name.
	limits map[string]round.Limits
	waits  map[corev1.ResourceName]time.Duration
	// needs is what the children need together, of the names of which that is known.
	needs amount.List
	// reserved are the resources of which limits of others, which are to be taken over, let more be used than is granted.
	reserved sets.Set[corev1.ResourceName]
	// leftOut are the children that the ledger has no room for. uncounted says whether one of them may hold a share.
	leftOut   []string
	uncounted bool
}

// learned is what a ledger knows of the children that it has told. Kept and Rebuilding exclude each other and the
// others.
type learned int

const (
	// kept: at least one entry was read, so that the ledger knows whom it has told.
	kept learned = iota
	// unread: no entry was ever read. The ledger is new, or all have left.
	unread
	// lost: no entry was ever read, and there was a ledger before, or may have been one, which told children what this one
	// does not know. All that may hold a share are to be suspected in this round: the next one knows of them.
	lost
	// rebuilding: a child was told something by another ledger, so that this one was restored from the past. It is rebuilt
	// in this round, and which children that concerns is known in the next one.
	rebuilding
)

// New begins a round: it says which children it concerns. It keeps the input as it is.
func New(in *Input) *Round {
	r := &Round{
		in: in, halted: in.Halted != (Obstacle{}) && !in.Removing,
		known: map[string]ledger.Entry{}, names: map[string]string{}, byName: map[string]*child{},
	}
	entries := map[string]ledger.Entry{}
	for i := range in.Children {
		c := &in.Children[i]
		r.selects = r.selects || c.Selected && !in.Removing
		r.marker = max(r.marker, c.Marker)
		if c.UID != "" {
			r.names[c.UID] = c.Name
		}
		if c.Entry != nil {
			entries[c.Name] = c.Entry.Entry
		}
	}
	r.ledger = ledger.New(in.Budget, in.Revision, entries)
	r.ledger.In(in.Epoch)
	r.learned = in.learned()
	for _, name := range r.ledger.Children() {
		r.known[name], _ = r.ledger.Entry(name)
	}
	r.enlist()
	return r
}

// learned says what the stored ledger knows.
func (in *Input) learned() learned {
	read := func(c Child) bool { return c.Entry != nil && c.Entry.Revision > 0 }
	rebuilt := func(c Child) bool {
		return c.Entry != nil && c.Entry.Revision == 0 && !c.Entry.Granted.IsZero() &&
			c.Entry.Reason != quotav1alpha1.ReasonMayHoldShare
	}
	switch {
	case slices.ContainsFunc(in.Children, read):
		return kept
	case in.Revision == 0, slices.ContainsFunc(in.Children, rebuilt):
		return lost
	}
	return unread
}

// enlist fills in the children that the round concerns: those that are selected, that have an entry, or that may hold
// a share all the same. After a restore a ledger does not know whom another one has told since, but looks at the
// stores of children do. One that is not selected is read if it is marked and no entry was ever read, since it may
// hold a share that a lost ledger knew of; while nothing can be given to anybody there is no need.
func (r *Round) enlist() {
	lost := r.unread() && !r.early()
	for i := range r.in.Children {
		c := r.in.Children[i]
		c.Selected = c.Selected && !r.in.Removing
		if c.Selected || c.Entry != nil || c.Holds || lost && c.Marker > 0 && c.UID != "" {
			r.byName[c.Name] = newChild(&c, r.early())
			r.children = append(r.children, r.byName[c.Name])
		}
	}
	slices.SortFunc(r.children, func(a, b *child) int { return cmp.Compare(a.Name, b.Name) })
}

// unread says whether no entry was ever read.
func (r *Round) unread() bool { return r.learned == unread || r.learned == lost }

// early says whether it is too early for a ledger that has read no child to take any in: as soon as one entry is read,
// children that are not selected, or cannot be, would no longer be asked what they hold.
func (r *Round) early() bool {
	return r.unread() && !r.in.Removing && (r.halted || !r.selects)
}

// Children are those that the round concerns, by name. Each is to be read, and Hear told of it, before Decide.
func (r *Round) Children() []Child {
	children := make([]Child, len(r.children))
	for i, c := range r.children {
		children[i] = *c.Child
	}
	return children
}

// Hear takes what reading a child has given, and what is remembered of it.
func (r *Round) Hear(name string, reading Reading, past Past) {
	if c := r.byName[name]; c != nil {
		c.Reading, c.Past = reading, past
	}
}

// entry returns the entry of a child.
func (r *Round) entry(c *child) (ledger.Entry, bool) { return r.ledger.Entry(c.Name) }

// untold says whether a child has an entry, and was never told anything.
func (r *Round) untold(c *child) bool {
	return r.ledger.Has(c.Name) && r.ledger.RevisionOf(c.Name) == 0
}

// Forged says whether no ledger gave a revision.
func (r *Round) Forged(revision int64) bool {
	return revision > max(ledger.MostRevision, r.in.Revision)
}
