// Package pool holds the protocol between a pool and its children as functions on values: what a child stores of its
// pool, and what the pool's ledger knows of a child. It is the table of docs/decisions/0120, one step a function; the
// ledger itself is internal/ledger, which knows names, not clusters.
//
// A child is a FederatedQuota, or another pool. Its sum is all that its own ledger has granted. Each step is stored
// with one compare-and-swap of the object of who takes it, so that object is the present one; what was read of the
// other one may be old, but where a step says that it has to be read live.
//
// The package is pure: no client, no clock.
package pool

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Membership is what a child has stored of its pool. It is written together with the child's ledger. Its zero value is
// that of a child which was never in a pool.
type Membership struct {
	// Name and UID are those of the pool that the child stands in, both empty if it stands in none.
	Name, UID string
	// Tenure numbers the times that the child joined or left: a later one ends the one before.
	Tenure int64
	// Revision is that of the entry which was taken up last, or the floor below which none is taken up. 0: none was yet.
	Revision int64
	// Cap is the target of that entry, by resource name: the most that the child may have granted. nil means that none was
	// taken up, so that the child is frozen.
	Cap amount.List
}

// Stands says whether the child stands in a pool.
func (m Membership) Stands() bool { return m.UID != "" }

// Frozen says whether the child stands in a pool, and has not been told yet what it may have: it keeps what it has
// granted, raises nothing and lowers nothing.
func (m Membership) Frozen() bool { return m.Stands() && m.Cap == nil }

// Floored says whether the child is frozen since its ledger was rebuilt, and has taken nothing up since. A pool stays
// so until all that name it are entered: by taking something up it tells its own pool that what it counts is all that
// its children have.
func (m Membership) Floored() bool { return m.Frozen() && m.Revision > 0 }

// Announce has the child stand in the pool, frozen. The uid of the pool has to be read live after the child: an old one
// may be that of a pool which is gone. One that stood in another pool leaves it by that. The epoch is that of now.
func (m Membership) Announce(name, uid string, epoch int64) Membership {
	return Membership{Name: name, UID: uid, Tenure: m.next(epoch)}
}

// Leave has the child stand in no pool.
func (m Membership) Leave(epoch int64) Membership { return Membership{Tenure: m.next(epoch)} }

// next returns the next tenure: one that is above all before it, also above those of a status that was lost.
func (m Membership) next(epoch int64) int64 { return max(epoch, m.Tenure+1) }

// Renew has the child be counted anew in the pool that it stands in, frozen, as when it came: its sum has risen above
// its cap, by a child of its own that came with something. No version of it from before can settle its entry any more.
func (m Membership) Renew(epoch int64) Membership {
	renewed := m.Announce(m.Name, m.UID, epoch)
	if m.Frozen() {
		renewed.Revision = m.Revision
	}
	return renewed
}

// Floor has the child take up no entry that was given before now: its ledger was lost or put back, and so was the
// pool's perhaps. The pool sees a revision that it has not given, and rebuilds. The next tenure begins: an entry of a
// pool that has rebuilt already lets the child have what its own ledger said before.
func (m Membership) Floor(epoch int64) Membership {
	m.Tenure, m.Revision, m.Cap = m.next(epoch), max(m.Revision+ledger.Gap, epoch), nil
	return m
}

// TakeUp takes up what an entry offers, however long ago it was read, and says whether it was news. Its target is the
// cap, and not what is granted: that stays while the target falls.
func (m Membership) TakeUp(child string, offer Offer) (Membership, bool) {
	mine := offer.PoolUID == m.UID && offer.UID == child && offer.Tenure == m.Tenure
	if !m.Stands() || !mine || offer.Revision <= m.Revision {
		return m, false
	}
	m.Revision, m.Cap = offer.Revision, offer.Target.Clone()
	return m, true
}

// Offer is what the ledger of a pool offers to a child.
type Offer struct {
	// PoolUID is that of the pool.
	PoolUID string

	Entry
}

// Budget returns what a child may have granted: its own, and of each name that its pool limits at most the cap. A name
// that the child does not list has no limit of its own.
func (m Membership) Budget(own amount.List) amount.List {
	budget := own.Clone()
	for name, most := range m.Cap {
		if limit, listed := own[name]; listed {
			most = min(most, limit)
		}
		if budget == nil {
			budget = amount.List{}
		}
		budget[name] = most
	}
	return budget
}
