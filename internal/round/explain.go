package round

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Account says why the limits of all children are what they are.
type Account struct {
	// Budget is what is distributed. Free is what can be granted of it at once, and Debt what is granted above it.
	Budget, Free, Debt amount.List
	// Expected are the children that are about to say what they hold: no limit moves before. Reporting are those that are
	// about to say what they use, by resource name: no limit goes up before.
	Expected  []string
	Reporting map[corev1.ResourceName][]string
	// Children are those that have an entry in the ledger, in the order of the input.
	Children []ChildAccount
}

// ChildAccount says why the limits of a child are what they are.
type ChildAccount struct {
	Name string
	// Leaving says that it shall have nothing any more, Weight with what weight it takes part, and Pinned that it cannot
	// be changed now.
	Leaving bool
	Weight  int64
	Pinned  bool
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
	// Room is what it has a place for beyond what it uses, where that is known. Step is the step in which its limit comes.
	Room, Step int64
	// Bound is what keeps the limit from being another one. If it is BoundUnread, the reason and the fair part are those
	// of a split without what the child that was not read may hold.
	Bound Bound
}

// Why says in a few words why the limit of a child is not higher, or else why it is what it is.
func (a *Account) Why(child string, name corev1.ResourceName) string {
	i := slices.IndexFunc(a.Children, func(c ChildAccount) bool { return c.Name == child })
	if i < 0 {
		return ""
	}
	claim := a.Children[i].Claims[name]
	return cmp.Or(claim.Bound.Words().Brief, WordsOf(claim.Verdict.Reason).Brief)
}

// Explain says why limits are what they are. It moves none.
func Explain(l *ledger.Ledger, in *Input) *Account {
	r := begin(l, in)
	account := &Account{
		Budget: r.budget, Free: amount.List{}, Debt: amount.List{}, Expected: in.Expected, Reporting: in.reporting(),
	}
	for _, name := range r.names {
		account.Free[name], account.Debt[name] = l.Free(name), l.Debt(name)
	}
	input := r.allocation()
	parts, wanted, next := r.parts(), r.allocate(input), r.allocate(input)
	r.ration(input, next)
	unbound := r.unboundBy(BoundUnread)
	for i, c := range r.children {
		child := ChildAccount{
			Name: c.Name, Leaving: c.Leaving, Weight: input.Children[i].Weight, Pinned: input.Children[i].Pinned,
			Claims: make(map[corev1.ResourceName]ClaimAccount, len(r.names)),
		}
		for j, name := range r.names {
			claim := ClaimAccount{
				Claim: r.stated(c, name), Part: parts.Verdicts[i][j].Target,
				Verdict: wanted.Verdicts[i][j], Next: next.Verdicts[i][j].Target,
				Replacing: c.Replacing[name], Room: c.Room[name], Step: in.Split.Grains[name],
			}
			if len(in.Expected) > 0 {
				claim.Next = claim.Target
			}
			unbound.explain(i, j, &claim)
			child.Claims[name] = claim
		}
		account.Children = append(account.Children, child)
	}
	return account
}

// reporting returns the children for whose usage raises wait, by resource name.
func (in *Input) reporting() map[corev1.ResourceName][]string {
	names := map[corev1.ResourceName][]string{}
	for i := range in.Children {
		for name := range in.Children[i].Awaited {
			names[name] = append(names[name], in.Children[i].Name)
		}
	}
	return names
}

// parts returns the split by weight, min and max alone: whether a child has place, and what one may hold that was not
// read, does not count.
func (r *round) parts() allocate.Result {
	return allocate.Static(r.allocation(BoundUnread, BoundNodes, BoundRoom))
}

// stated returns the claim of a child as it states it. What it does not say it may use counts as used.
func (r *round) stated(c *Standing, name corev1.ResourceName) allocate.Claim {
	e, _ := r.ledger.Entry(c.Name)
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
