package shares

import (
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Account says why the limits of all children are what they are.
type Account struct {
	// Halted says why nothing is decided, or is empty.
	Halted Obstacle
	// Budget is what is distributed. Free is what can be granted of it at once, and Debt what is granted above it.
	Budget, Free, Debt amount.List
	// Expected are the children that are about to say what they hold: no limit moves before. Reporting are those that are
	// about to say what they use, by resource name: no limit goes up before.
	Expected  []string
	Reporting map[corev1.ResourceName][]string
	// Children are those that have an entry in the ledger, by name.
	Children []ChildAccount
}

// ChildAccount says why the limits of a child are what they are.
type ChildAccount struct {
	Name string
	// Selected says whether the placement selects it, and Weight with what weight.
	Selected bool
	Weight   int64
	// State and Why are those of its entry. Pinned says that it cannot be changed now.
	State  quotav1alpha1.ClusterState
	Why    Obstacle
	Pinned bool
	// Claims are what it has and asks for, by resource name.
	Claims map[corev1.ResourceName]ClaimAccount
}

// ClaimAccount says why the limit of a child is what it is of one resource name.
type ClaimAccount struct {
	// Claim is as the child states it, whatever binds it.
	allocate.Claim

	// Part is what the child would get of a split by weight, min and max alone.
	Part int64
	// Verdict is what its limit shall become, and why. Next is what it can become with what is free now.
	Verdict allocate.Verdict
	Next    int64
	// Replacing is what it has given up to replace its own objects.
	Replacing int64
	// Bound is what keeps the limit from being another one. If it is BoundUnread, the reason and the fair part are those
	// of a split without what the child that was not read may hold.
	Bound Bound
}

// Explain takes what the children say, as Decide does, and says why limits are what they are. It decides nothing.
func (r *Round) Explain() *Account {
	r.hear()
	r.awaited = r.waits()
	names := r.ledger.Budget().Names()
	account := &Account{
		Halted: r.in.Halted, Budget: r.ledger.Budget(), Free: amount.List{}, Debt: amount.List{}, Expected: r.unseen, Reporting: r.reporting(),
	}
	for _, name := range names {
		account.Free[name], account.Debt[name] = r.ledger.Free(name), r.ledger.Debt(name)
	}
	input, children := r.allocation(names)
	parts, wanted, next := r.parts(names), r.allocate(input), r.allocate(input)
	r.ration(names, input, children, next)
	unbound := r.unboundBy(names, BoundUnread)
	for i, c := range children {
		e, _ := r.entry(c)
		child := ChildAccount{
			Name: c.Name, Selected: c.Selected, Weight: input.Members[i].Weight, Pinned: input.Members[i].Pinned,
			Claims: map[corev1.ResourceName]ClaimAccount{},
		}
		child.State, child.Why = r.stateOf(c, e)
		for j, name := range names {
			claim := ClaimAccount{
				Claim: r.stated(c, e, name), Part: parts.Verdicts[i][j].Target, Verdict: wanted.Verdicts[i][j], Next: next.Verdicts[i][j].Target,
				Replacing: c.replacing[name],
			}
			unbound.explain(i, j, &claim)
			child.Claims[name] = claim
		}
		account.Children = append(account.Children, child)
	}
	return account
}

// reporting returns the children for whose usage raises wait, by resource name.
func (r *Round) reporting() map[corev1.ResourceName][]string {
	names := map[corev1.ResourceName][]string{}
	for _, c := range r.children {
		for _, name := range c.unheard {
			names[name] = append(names[name], c.Name)
		}
	}
	return names
}

// parts returns the split by weight, min and max alone: whether nodes are full, and what a child may hold that was not
// read, does not count.
func (r *Round) parts(names []corev1.ResourceName) allocate.Result {
	input, _ := r.allocation(names, BoundUnread, BoundNodes)
	return allocate.Static(input)
}

// stated returns the claim of a child as it states it. What it does not say it may use counts as used.
func (r *Round) stated(c *child, e ledger.Entry, name corev1.ResourceName) allocate.Claim {
	claim := r.claim(c, e, name)
	switch {
	case c.counts(name):
	case claim.Granted == ledger.Unknown:
		claim.Used = claim.Target
	default:
		claim.Used = claim.Granted
	}
	return claim
}
