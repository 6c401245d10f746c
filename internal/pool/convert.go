package pool

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// QuotaKey returns the key of a FederatedQuota, and KeyOf that of a QuotaPool.
func QuotaKey(namespace, name string) string { return quotaPrefix + namespace + "/" + name }

// KeyOf returns the key of a QuotaPool.
func KeyOf(name string) string { return poolPrefix + name }

// IsPool says whether a key is that of a QuotaPool.
func IsPool(key string) bool { return strings.HasPrefix(key, poolPrefix) }

const quotaPrefix, poolPrefix = "FederatedQuota/", "QuotaPool/"

// MembershipOf returns what is stored, nil being that of an object which was never in a pool.
func MembershipOf(s *quotav1alpha1.PoolMembership) Membership {
	if s == nil {
		return Membership{}
	}
	m := Membership{Name: string(s.Name), UID: s.UID, Tenure: s.Tenure, Revision: s.Revision}
	if len(s.Cap) > 0 {
		m.Cap = amount.Saturate(s.Cap, amount.Down)
	}
	return m
}

// Stored returns what is to be stored, in the formats of like.
func (m Membership) Stored(like corev1.ResourceList) *quotav1alpha1.PoolMembership {
	if m.Tenure == 0 {
		return nil
	}
	s := &quotav1alpha1.PoolMembership{
		Name: quotav1alpha1.PoolName(m.Name), UID: m.UID, Tenure: m.Tenure, Revision: m.Revision,
	}
	if m.Cap != nil {
		s.Cap = m.Cap.ToList(like)
	}
	return s
}

// Lacking returns what a budget needs beyond what it has in its pool, of the names of which it does; nothing if it
// stands in none. What it needs is what it uses, asks for and keeps.
func Lacking(status *quotav1alpha1.BudgetStatus) amount.List {
	if !MembershipOf(status.Pool).Stands() {
		return nil
	}
	lack, needed := amount.List{}, amount.List{}
	for _, list := range []corev1.ResourceList{status.Used, status.Demand, status.AlsoNeeded} {
		needed = amount.Sum(needed, amount.Saturate(list, amount.Up))
	}
	for name, value := range amount.Sub(needed, amount.Saturate(status.Hard, amount.Down)) {
		if value > 0 {
			lack[name] = value
		}
	}
	return lack
}

// Report writes what a round has summed up into the status of a budget, without what it tells the pool above of its
// needs.
func Report(status *quotav1alpha1.BudgetStatus, budget amount.List, t round.Totals, formats corev1.ResourceList) {
	status.Hard, status.Granted, status.Free = budget.ToList(formats), t.Granted.ToList(formats), t.Free.ToList(formats)
	status.Used, status.Demand = t.Used.ToList(formats), t.Demand.ToList(formats)
	status.DemandByShape, status.AlsoNeeded = nil, nil
	status.Tightest = amount.Tightest(budget, t.Used, formats)
}

// ShapesOf puts the demand of several, of each what it is in all and by shape, together for the pool above: none where
// one of them does not say of which shape its demand is. Hard is what is limited.
func ShapesOf(
	total corev1.ResourceList, shapes []quotav1alpha1.DemandShape, hard corev1.ResourceList,
) []quotav1alpha1.DemandShape {
	asked := make([]shape.Shape, len(shapes))
	for i := range shapes {
		asked[i] = shape.Shape{
			Amounts: amount.Saturate(shapes[i].Amounts, amount.Up), Unit: amount.Saturate(shapes[i].Unit, amount.Up),
		}
	}
	joined := shape.Join(slices.Values(asked), hard, amount.Saturate(hard, amount.Down))
	if !shape.Total(joined).Covers(amount.Saturate(total, amount.Up)) {
		return nil
	}
	together := make([]quotav1alpha1.DemandShape, len(joined))
	for i, s := range joined {
		together[i] = quotav1alpha1.DemandShape{Amounts: s.Amounts.ToList(hard), Unit: s.Unit.ToList(hard)}
	}
	return together
}

// EntryOf returns the entry that is stored of a child.
func EntryOf(c *quotav1alpha1.ChildStatus) Entry {
	return Entry{Entry: ledger.EntryOf(c.Revision, c.Granted, c.Target), UID: c.UID, Tenure: c.Tenure}
}

// Store writes the entry of a child into its status, as quantities in the formats of like.
func (p *Pool) Store(key string, into *quotav1alpha1.ChildStatus, like corev1.ResourceList) {
	into.UID, into.Tenure = p.stands[key].uid, p.stands[key].tenure
	into.Revision, into.Granted, into.Target = p.Ledger.Stored(key, like)
}

// TreeOf returns what pools have stored, by one list of all.
func TreeOf(all []quotav1alpha1.QuotaPool) Tree {
	tree := make(Tree, len(all))
	for i := range all {
		p := &all[i]
		n := &Node{
			Key: KeyOf(p.Name), UID: string(p.UID), Membership: MembershipOf(p.Status.Pool),
			Budget: amount.Saturate(p.Status.Hard, amount.Down), Granted: amount.Saturate(p.Status.Granted, amount.Up),
			Entries: make(map[string]Entry, len(p.Status.Children)),
		}
		for j := range p.Status.Children {
			n.Entries[string(p.Status.Children[j].Key)] = EntryOf(&p.Status.Children[j])
		}
		tree[p.Name] = n
	}
	return tree
}

// OfferTo returns what a QuotaPool offers to a child, and whether it has an entry for it.
func OfferTo(key string, p *quotav1alpha1.QuotaPool) (Offer, bool) {
	for i := range p.Status.Children {
		if string(p.Status.Children[i].Key) == key {
			return Offer{PoolUID: string(p.UID), Entry: EntryOf(&p.Status.Children[i])}, true
		}
	}
	return Offer{}, false
}

// ChildOfQuota returns a FederatedQuota as a child. Where it comes from a cache that leaves out what its clusters were
// granted, names that have left its budget are missing from the sum.
func ChildOfQuota(fq *quotav1alpha1.FederatedQuota) *Child {
	c := &Child{
		Key: QuotaKey(fq.Namespace, fq.Name), UID: string(fq.UID), Membership: MembershipOf(fq.Status.Pool),
		Unknown: fq.Status.Revision == 0, Granted: amount.List{}, Target: amount.List{},
	}
	for i := range fq.Status.Clusters {
		entry := &fq.Status.Clusters[i]
		if entry.Revision > 0 && len(entry.Granted)+len(entry.Target) == 0 {
			continue // as all are in a cache
		}
		c.add(ledger.EntryOf(entry.Revision, entry.Granted, entry.Target))
	}
	c.Granted = amount.Max(c.Granted, amount.Saturate(fq.Status.Granted, amount.Up))
	return c
}

// ChildOfPool returns a QuotaPool as a child.
func ChildOfPool(p *quotav1alpha1.QuotaPool) *Child {
	c := &Child{
		Key: KeyOf(p.Name), UID: string(p.UID), Membership: MembershipOf(p.Status.Pool),
		Unknown: p.Status.Revision == 0, Granted: amount.List{}, Target: amount.List{},
	}
	for i := range p.Status.Children {
		c.add(EntryOf(&p.Status.Children[i]).Entry)
	}
	c.Granted = amount.Max(c.Granted, amount.Saturate(p.Status.Granted, amount.Up))
	return c
}

// add adds an entry of the child's own ledger.
func (c *Child) add(e ledger.Entry) {
	c.Granted = amount.Sum(c.Granted, e.Granted)
	if e.Unknown() {
		c.Target = amount.Sum(c.Target, e.Target)
		return
	}
	c.Target = amount.Sum(c.Target, e.Granted)
}
