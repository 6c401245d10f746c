// Package ledger holds the steps of the protocol as functions on a value.
//
// A Ledger says for each child what it was granted (the most that it may be enforcing or using, as far as the hub can
// know), what its limit shall become, and under which revision it was told so. Every way to change a Ledger is a step
// of the protocol, and the only one that can raise anyone takes no more than what is free: whatever a caller asks for,
// Raise and Steer leave the sum of what is granted of a name that they raise within the budget. Steps that charge
// (Join, Enter, Adopt, Settle, Rebuild, CountBeside) may take it above that, which is debt. So a round charges all that
// it has learned first, and steers last.
//
// The steps are pure: no I/O, no clock. The caller stores the ledger with one compare-and-swap before it delivers any
// share.
package ledger

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Unknown is what counts as granted to a child that may hold any amount: more than any budget, also than one that was
// in force before or will be. While it stands for one child nobody is raised.
const Unknown int64 = math.MaxInt64

// Entry is what the ledger knows of one child.
type Entry struct {
	// Revision is the fencing token of the share that was last decided for the child. 0: the child was never read.
	Revision int64
	// Granted is the upper bound of what the child enforces or uses.
	Granted amount.List
	// Target is what the child's limit shall become; the share carries it.
	Target amount.List
}

// First returns what the share of a child is created with: limits of zero. A create names no share that was read.
// Where share and ResourceQuota are gone, nothing is left that would refuse one that comes late. An update brings the
// target, and names its share.
func (e Entry) First() Entry {
	if nothing := zero(e.Target); !e.Target.Equal(nothing) {
		e.Target, e.Revision = nothing, e.Revision-1
	}
	return e
}

// Ledger is the budget and the entries of all children. Its zero value is not usable; call New.
type Ledger struct {
	budget   amount.List
	revision int64
	entries  map[string]Entry
	// beside is what those have that have no entry.
	beside amount.List
	// epoch is the present one, 0 if there is no clock to go by.
	epoch int64
	// sums caches Granted by name; what changes an entry's Granted sets it to nil.
	sums amount.List
}

// Report is what a child says of itself: the revision in force, and limit and usage under it, out of one version of
// the ResourceQuota. A name that has a limit and no usage is not counted there: its API server admits nothing that it
// would have to charge under it. A name that is not in force yet is in neither list.
type Report struct {
	Revision int64
	Hard     amount.List
	Used     amount.List
}

// inUse returns the most that the child may enforce or use of name, and whether the report says so.
func (r Report) inUse(name corev1.ResourceName) (int64, bool) {
	hard, limited := r.Hard[name]
	used, counted := r.Used[name]
	return max(hard, used), limited && counted
}

// New returns a ledger over the given budget. It copies the entries. Where the resource names of the budget have
// changed, a child must confirm the change: a new name starts at zero, and one that left stays granted until the
// child has dropped it, so that it is still counted if it comes back meanwhile. A child that may hold anything may
// hold the new names too.
func New(budget amount.List, revision int64, entries map[string]Entry) *Ledger {
	l := &Ledger{budget: budget.Clone(), revision: revision, entries: make(map[string]Entry, len(entries))}
	for child, e := range entries {
		fresh := Entry{Revision: e.Revision, Granted: amount.Max(zero(budget), e.Granted), Target: zero(budget)}
		for name := range budget {
			fresh.Target[name] = e.Target[name]
			if _, ok := e.Granted[name]; !ok && e.Unknown() {
				fresh.Granted[name] = Unknown
			}
		}
		l.entries[child] = fresh
	}
	for _, child := range l.Children() {
		if e := entries[child]; e.Revision > 0 && !sameNames(e.Target, budget) {
			l.Confirm(child)
		}
	}
	return l
}

// In says which epoch it is, before any step.
func (l *Ledger) In(epoch int64) { l.epoch = epoch }

// zero returns a list with the names of like.
func zero(like amount.List) amount.List {
	list := make(amount.List, len(like))
	for name := range like {
		list[name] = 0
	}
	return list
}

func sameNames(a, b amount.List) bool { return slices.Equal(a.Names(), b.Names()) }

// Budget returns the budget.
func (l *Ledger) Budget() amount.List { return l.budget.Clone() }

// Revision returns the counter: the highest revision that any entry ever took.
func (l *Ledger) Revision() int64 { return l.revision }

// CountBeside counts what somebody has who has no entry, and who comes to have no more before that. It is no part of
// what is stored.
func (l *Ledger) CountBeside(granted amount.List) {
	l.beside = amount.Sum(l.beside, granted)
	l.sums = nil
}

// Beside returns what is counted of name of those that have no entry.
func (l *Ledger) Beside(name corev1.ResourceName) int64 { return l.beside[name] }

// Children returns the names of the children that have an entry, sorted.
func (l *Ledger) Children() []string { return slices.Sorted(maps.Keys(l.entries)) }

// Len returns how many children have an entry.
func (l *Ledger) Len() int { return len(l.entries) }

// Entry returns a copy of the entry of a child.
func (l *Ledger) Entry(child string) (Entry, bool) {
	e, ok := l.entries[child]
	return Entry{Revision: e.Revision, Granted: e.Granted.Clone(), Target: e.Target.Clone()}, ok
}

// Has says whether a child has an entry.
func (l *Ledger) Has(child string) bool {
	_, ok := l.entries[child]
	return ok
}

// RevisionOf returns the revision of the entry of a child, 0 if it has none or was never read.
func (l *Ledger) RevisionOf(child string) int64 { return l.entries[child].Revision }

// Granted returns the sum of what all children were granted of name, and of what those have that have no entry.
func (l *Ledger) Granted(name corev1.ResourceName) int64 {
	if l.sums == nil {
		l.sums = amount.Max(zero(l.budget), l.beside.Only(l.budget))
		for _, e := range l.entries {
			for name := range l.budget {
				l.sums[name] = amount.Add(l.sums[name], e.Granted[name])
			}
		}
	}
	return l.sums[name]
}

// Free returns what can be granted of name at once, without taking from anyone.
func (l *Ledger) Free(name corev1.ResourceName) int64 { return max(0, l.budget[name]-l.Granted(name)) }

// Debt returns by how much the sum of what is granted of name is above the budget; Unknown while a child may hold any
// amount.
func (l *Ledger) Debt(name corev1.ResourceName) int64 {
	granted := l.Granted(name)
	if granted == Unknown {
		return Unknown
	}
	return max(0, granted-l.budget[name])
}

// Settled says whether the report shows the child's entry in force, limit and usage being no more than the target. A
// name that is not counted there is settled by its limit.
func (l *Ledger) Settled(child string, report Report) bool {
	e, ok := l.entries[child]
	if !ok || !e.confirmedBy(report) || l.Disagrees(child, report) {
		return false
	}
	for name, target := range e.Target {
		hard, limited := report.Hard[name]
		if !limited || max(hard, report.Used[name]) != target || e.Granted[name] != target {
			return false
		}
	}
	return true
}

// Returned says whether the report shows that the child has given back all: nothing is granted to it, and the entry is
// in force with a limit under every name of the budget. What it uses under a name that is not limited yet, nobody
// knows.
func (l *Ledger) Returned(child string, report Report) bool {
	e, ok := l.entries[child]
	if !ok || !e.confirmedBy(report) || l.Holds(child) {
		return false
	}
	for name := range l.budget {
		if _, limited := report.Hard[name]; !limited {
			return false
		}
	}
	return true
}

// confirmedBy says whether the report is of the entry's own revision.
func (e Entry) confirmedBy(report Report) bool {
	return e.Revision > 0 && report.Revision == e.Revision
}

// Unknown says whether there is a name of which nobody knows what the child holds.
func (e Entry) Unknown() bool {
	for _, granted := range e.Granted {
		if granted == Unknown {
			return true
		}
	}
	return false
}

// next gives the entry of child the next revision, the fencing token of the write to come.
func (l *Ledger) next(child string, e Entry) {
	l.revision++
	e.Revision = l.revision
	l.entries[child] = e
}
