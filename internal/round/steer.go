package round

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Decision is what a round has decided.
type Decision struct {
	// Waits is how long raises wait at most for what children use, by resource name.
	Waits map[corev1.ResourceName]time.Duration
	// Limits are those of the children that have an entry in the ledger, by their names, and by resource name of the
	// budget. There are none while a child is expected.
	Limits map[string]Limits
	// Needs is what the children need together where limits follow demand, were the budget to hold it, of the names of
	// which that is known.
	Needs amount.List
}

// Limits are what was decided of a child, by resource name.
type Limits map[corev1.ResourceName]Limit

// Limit is what was decided of one name.
type Limit struct {
	// From and To are the target before and after.
	From, To int64
	// Wanted is what the target shall become once all is free that the children are to give back.
	Wanted int64
	// Reason says why the target is what it is.
	Reason allocate.Reason
	// Yields says that the target goes down for what others need, and not for their headroom alone.
	Yields bool
	// Bound is what a raise to Wanted waits for, if it does. Explain says more.
	Bound Bound
}

// Moves says whether the target moves.
func (l Limit) Moves() bool { return l.From != l.To }

// round is one that is under way.
type round struct {
	in     *Input
	ledger *ledger.Ledger
	// budget is what is distributed, and names are its names, in order.
	budget amount.List
	names  []corev1.ResourceName
	// children are those that have an entry in the ledger.
	children []*Standing
	// waits is how long raises wait for what children use, by resource name.
	waits map[corev1.ResourceName]time.Duration
}

func begin(l *ledger.Ledger, in *Input) *round {
	r := &round{in: in, ledger: l, budget: l.Budget(), waits: map[corev1.ResourceName]time.Duration{}}
	r.names = r.budget.Names()
	for i := range in.Children {
		c := &in.Children[i]
		for name, wait := range c.Awaited {
			r.waits[name] = max(r.waits[name], wait)
		}
		if l.Has(c.Name) {
			r.children = append(r.children, c)
		}
	}
	return r
}

// Steer moves the limits of all children in the ledger towards what they shall become. What was learned of the children
// is in the ledger before: as ledger.Steer, it never raises anybody above what is free. A child that leaves gives all
// back.
func Steer(l *ledger.Ledger, in *Input) Decision {
	r := begin(l, in)
	if len(in.Expected) > 0 {
		return Decision{Waits: r.waits}
	}
	input := r.allocation()
	needs := r.needs(input)
	result := r.allocate(input)
	limits := r.limits(result)
	r.ration(input, result)
	targets := make([]ledger.Target, len(r.children))
	for i, c := range r.children {
		targets[i] = ledger.Target{Child: c.Name, Amounts: amount.List{}}
		for j, name := range r.names {
			switch {
			case c.Leaving:
				targets[i].Amounts[name] = 0
			case in.Split.Static || !input.Children[i].Pinned && c.counts(name):
				targets[i].Amounts[name] = result.Verdicts[i][j].Target
			}
		}
	}
	byName := r.byName()
	l.Steer(targets, func(child string, name corev1.ResourceName) bool { return r.mayRaise(byName[child], name) })
	r.conclude(limits, result)
	return Decision{Waits: r.waits, Limits: limits, Needs: needs}
}

// needs returns what the children need together.
func (r *round) needs(input allocate.Input) amount.List {
	if r.in.Split.Static {
		return nil
	}
	needs := amount.List{}
	for i, value := range allocate.Needs(input) {
		if name := r.names[i]; r.ledger.Granted(name) != ledger.Unknown {
			needs[name] = value
		}
	}
	return needs
}

// limits notes what limits are and shall become, before raises are cut down to what is free.
func (r *round) limits(result allocate.Result) map[string]Limits {
	limits := make(map[string]Limits, len(r.children))
	for i, c := range r.children {
		e, _ := r.ledger.Entry(c.Name)
		limits[c.Name] = make(Limits, len(r.names))
		for j, name := range r.names {
			limits[c.Name][name] = Limit{From: e.Target[name], Wanted: result.Verdicts[i][j].Target}
		}
	}
	return limits
}

// conclude fills in what limits have become, and why.
func (r *round) conclude(limits map[string]Limits, result allocate.Result) {
	for i, c := range r.children {
		e, _ := r.ledger.Entry(c.Name)
		for j, name := range r.names {
			limit := limits[c.Name][name]
			limit.To, limit.Reason = e.Target[name], result.Verdicts[i][j].Reason
			limit.Yields = result.Needed[j] && limit.To < limit.From
			if limit.Wanted > max(limit.From, limit.To) {
				limit.Bound = r.waitsFor(c, name)
			}
			limits[c.Name][name] = limit
		}
	}
}

// Wanted returns what the limits of all children in the ledger would become once all is free that they are to give
// back, by the names of the children, with what is supposed of them. It moves nothing.
func Wanted(l *ledger.Ledger, in *Input) map[string]amount.List {
	r := begin(l, in)
	result := r.allocate(r.allocation())
	wanted := make(map[string]amount.List, len(r.children))
	for i, c := range r.children {
		wanted[c.Name] = make(amount.List, len(r.names))
		for j, name := range r.names {
			wanted[c.Name][name] = result.Verdicts[i][j].Target
		}
	}
	return wanted
}

func (r *round) byName() map[string]*Standing {
	children := make(map[string]*Standing, len(r.children))
	for _, c := range r.children {
		children[c.Name] = c
	}
	return children
}

// mayRaise says whether a child may be raised now. No child is raised while another one is about to say what it uses of
// that already: if the budget were handed out before, that usage would be debt. Nor while somebody may come to use the
// room without being granted it.
func (r *round) mayRaise(c *Standing, name corev1.ResourceName) bool {
	return !r.in.Uncounted && r.waits[name] <= 0 && c.counts(name) && c.CanRaise && !c.Barred.Has(name)
}

// ration cuts raises down to what is free, and those of children that may not be raised to what these were granted.
func (r *round) ration(input allocate.Input, result allocate.Result) {
	free := make([]int64, len(r.names))
	for i, name := range r.names {
		free[i] = r.ledger.Free(name)
	}
	allocate.Ration(input, result, free, func(child, resource int) bool {
		return r.mayRaise(r.children[child], r.names[resource])
	})
	for i, c := range r.children {
		for j, name := range r.names {
			verdict := &result.Verdicts[i][j]
			most := input.Children[i].Claims[j].Granted
			if r.in.Uncounted { // what is granted may be held by whom the ledger does not know
				e, _ := r.ledger.Entry(c.Name)
				most = e.Target[name]
			}
			if !input.Children[i].Pinned && verdict.Target > most && !r.mayRaise(c, name) {
				verdict.Target = most
			}
		}
	}
}

// replaces says whether a child keeps room for objects that it replaces.
func (r *round) replaces() bool {
	return slices.ContainsFunc(r.children, func(c *Standing) bool { return len(c.Replacing) > 0 })
}
