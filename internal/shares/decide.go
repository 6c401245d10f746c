package shares

import "github.com/fedquota/fedquota/internal/round"

// Decide takes what the children say into the ledger, and takes the decisions of the round: it charges all that was
// learned first, and steers last.
func (r *Round) Decide() *Decision {
	r.hear()
	if !r.halted {
		r.steer()
	}
	d := r.decision()
	d.Conditions = r.conditions(d)
	d.Ready = d.Conditions[0].True
	d.exact, d.retries = r.next()
	return d
}

// steer ends the entries of children that are gone, and moves limits. A budget that is deleted leaves them as they are.
func (r *Round) steer() {
	for _, c := range r.children {
		if r.tenureOf(c) == gone {
			r.ledger.Gone(c.Name)
		}
	}
	if r.in.Removing {
		return
	}
	r.findTakeOvers()
	steered := round.Steer(r.ledger, r.steering(r.children))
	r.limits, r.waits, r.needs = steered.Limits, steered.Waits, steered.Needs
	if len(r.unseen) == 0 {
		r.allow()
	}
}

// Account says why the limits of all children are what they are.
type Account struct {
	*round.Account

	// Halted says why nothing is decided, or is empty.
	Halted Obstacle
	// Findings are those of the children that have an entry in the ledger, by name.
	Findings map[string]Finding
}

// Explain takes what the children say, as Decide does, and says why limits are what they are. It decides nothing.
func (r *Round) Explain() *Account {
	r.hear()
	account := &Account{
		Account: round.Explain(r.ledger, r.steering(r.children)), Halted: r.in.Halted, Findings: map[string]Finding{},
	}
	for _, c := range r.children {
		if e, ok := r.entry(c); ok {
			account.Findings[c.Name] = r.stateOf(c, e)
		}
	}
	return account
}
