package pool

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
)

// Input returns what a round over a pool is decided on, for who asks what it decides: its ledger, all that is stored of
// its children taken into it, and how they stand. What only the hub manager remembers, such as when it moved somebody
// last, is not in it. The spec may be another one than the stored one.
func Input(
	now time.Time, p *quotav1alpha1.QuotaPool, pools []quotav1alpha1.QuotaPool, quotas []quotav1alpha1.FederatedQuota,
) (*ledger.Ledger, *round.Input) {
	s := &scope{p: p, now: now, member: pool.MembershipOf(p.Status.Pool), children: map[string]*child{}}
	entries := make(map[string]pool.Entry, len(p.Status.Children))
	for i := range p.Status.Children {
		entries[string(p.Status.Children[i].Key)] = pool.EntryOf(&p.Status.Children[i])
	}
	own := ownBudget(p)
	budget := s.member.Budget(own)
	s.pool = pool.New(string(p.UID), budget, p.Status.Revision, 0, entries)
	for i := range quotas {
		if fq := &quotas[i]; concerns(p, membership.PoolOf(fq), fq.Status.Pool) {
			c := quotaOf(p, fq)
			c.refused = refusedOf(p, c.Key)
			s.children[c.Key] = c
		}
	}
	for i := range pools {
		if below := &pools[i]; below.Name != p.Name && concerns(p, string(below.Spec.Parent), below.Status.Pool) {
			c := ofPool(p, below)
			s.children[c.Key] = c
		}
	}
	in := &round.Input{
		ID: string(p.UID), Split: splitOf(&p.Spec),
		Bounded: round.BoundedBy(budget, own, capacity.Budget(p.Spec.Hard, p.Spec.Reserve, nil, nil)),
	}
	for _, c := range s.children {
		s.pool.CountBeside(c.Child)
	}
	for _, key := range s.pool.Keys() {
		if c := s.children[key]; c != nil {
			s.pool.Hear(c.Child)
		}
		in.Children = append(in.Children, s.standing(key, &memory{}))
	}
	return s.pool.Ledger, in
}

// refusedOf returns why the hub manager has found that a child may not be in the pool, or nothing.
func refusedOf(p *quotav1alpha1.QuotaPool, key string) string {
	for i := range p.Status.Children {
		c := &p.Status.Children[i]
		if string(c.Key) == key && c.Reason == quotav1alpha1.ReasonNamespaceNotAllowed {
			return c.Message
		}
	}
	return ""
}
