// Package trees holds what the hub manager knows of restores of the hub's store, for the rounds of FederatedQuotas and
// of QuotaPools.
package trees

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Trees is what this process knows of FederatedQuotas that are in pools, and of pools. If the hub's store was put back,
// a member of a FederatedQuota shows it, or the ledger of another one that was rebuilt for it says so. Then it is so of
// all ledgers: before each of a tree was heard once no FederatedQuota decides anything in it, and each is rebuilt that
// does not say that it was. Its zero value is ready to use.
type Trees struct {
	mutex sync.Mutex
	// heard are those that have had a round, passed those that need not wait for others any more.
	heard, passed map[types.UID]bool
	// last is the last restore that is known: the epoch in which it was noticed, 0 if none was.
	last int64
}

// Hear notes that a FederatedQuota or a pool was heard, whose ledger was rebuilt for that restore.
func (t *Trees) Hear(who types.UID, restored int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.heard == nil {
		t.heard, t.passed = map[types.UID]bool{}, map[types.UID]bool{}
	}
	t.heard[who] = true
	t.last = max(t.last, restored)
}

// Next returns the restore that is noticed in an epoch: a later one than all that are known.
func (t *Trees) Next(epoch int64) int64 { return max(t.Last()+1, epoch) }

// Last returns the last restore that is known.
func (t *Trees) Last() int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.last
}

// Forget drops what is known of a FederatedQuota or a pool that is gone.
func (t *Trees) Forget(who types.UID) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.heard, who)
	delete(t.passed, who)
}

// IsPast says whether a FederatedQuota need not wait for others any more.
func (t *Trees) IsPast(quota types.UID) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.passed[quota]
}

// Waits says whether a FederatedQuota has to wait until others are heard, or itself if it stands in a pool.
func (t *Trees) Waits(quota types.UID, others []types.UID, stands bool) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if slices.ContainsFunc(others, func(uid types.UID) bool { return !t.heard[uid] }) {
		return true
	}
	if t.heard[quota] {
		t.passed[quota] = true
	}
	return !t.heard[quota] && stands
}
