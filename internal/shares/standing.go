package shares

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// steering is what the ledger is steered by, with children as they are or as they would be.
func (r *Round) steering(children []*child) *round.Input {
	in := &round.Input{ID: r.in.ID, Split: r.in.Split, Expected: r.unseen, Uncounted: r.uncounted}
	for _, c := range children {
		in.Children = append(in.Children, r.standing(c))
	}
	return in
}

// standing returns how a child stands to the budget.
func (r *Round) standing(c *child) round.Standing {
	s := round.Standing{
		Name: c.Name, UID: c.UID, Leaving: !c.Selected, Terms: c.Terms,
		Used: c.report.Used, Demand: c.demand, Shapes: c.shapes, Expected: c.expected, Replacing: c.replacing,
		CanRaise: c.follows(), Pinned: !c.responsive(), Full: c.reports(quotav1alpha1.ConditionNodesFull),
		DampedFor: c.Past.DampedFor, Gave: c.Past.Gave,
	}
	if !c.takesOver {
		s.Barred = r.reserved
	}
	if len(c.unheard) > 0 {
		s.Awaited = make(map[corev1.ResourceName]time.Duration, len(c.unheard))
	}
	for _, name := range c.unheard {
		s.Awaited[name] = pace.FirstReportWait - c.Past.UnheardFor[name]
	}
	return s
}

// Account says why the limits of all children are what they are.
type Account struct {
	*round.Account

	// Halted says why nothing is decided, or is empty.
	Halted Obstacle
	// States are those of the children that have an entry in the ledger, by name.
	States map[string]State
}

// State sums up an entry, and Why says in a word and a sentence why it is not settled.
type State struct {
	State quotav1alpha1.ClusterState
	Why   Obstacle
}

// Explain takes what the children say, as Decide does, and says why limits are what they are. It decides nothing.
func (r *Round) Explain() *Account {
	r.hear()
	account := &Account{Account: round.Explain(r.ledger, r.steering(r.children)), Halted: r.in.Halted, States: map[string]State{}}
	for _, c := range r.children {
		if e, ok := r.entry(c); ok {
			state, why := r.stateOf(c, e)
			account.States[c.Name] = State{state, why}
		}
	}
	return account
}
