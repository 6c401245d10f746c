// Package trees holds what the hub manager knows of restores of the hub's store, for the rounds of FederatedQuotas and
// of QuotaPools.
package trees

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Trees is what this process knows of FederatedQuotas that are in pools, and of pools. If the hub's store was put back,
// a member of a FederatedQuota may show it, or a pool whose child has rebuilt its ledger before this process began.
// Then it is so of all ledgers of that tree: before each of them was heard once no FederatedQuota decides anything in
// it, and once one shows it, all are rebuilt. Its zero value is ready to use.
type Trees struct {
	mutex sync.Mutex
	// heard are those that have had a round, passed those that need not wait for others any more.
	heard, passed map[types.UID]bool
	// restores counts how often one has shown that the store was put back, and rebuilt is up to which of these each has
	// rebuilt its ledger.
	restores int
	rebuilt  map[types.UID]int
}

// Hear notes that the members of a FederatedQuota were heard, and whether they have shown that the store was put back.
func (t *Trees) Hear(quota types.UID, shown bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.hear(quota, shown)
}

// HearPool notes that the children of a pool were read, and whether they know what its ledger does not. It returns
// whether that has shown that the store was put back: at first sight it does. Later on this process has known it before
// them, or no more than a status was lost.
func (t *Trees) HearPool(pool types.UID, lost bool) (shown bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	shown = lost && !t.heard[pool]
	t.hear(pool, shown)
	return shown
}

func (t *Trees) hear(who types.UID, shown bool) {
	if t.heard == nil {
		t.heard, t.passed, t.rebuilt = map[types.UID]bool{}, map[types.UID]bool{}, map[types.UID]int{}
	}
	t.heard[who] = true
	if shown {
		t.restores++
	}
}

// Rebuilt notes that a FederatedQuota or a pool has stored a rebuilt ledger, which counts for so many restores.
func (t *Trees) Rebuilt(who types.UID, restores int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.rebuilt[who] = restores
}

// Known returns how many restores were shown until now.
func (t *Trees) Known() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.restores
}

// Forget drops what is known of a FederatedQuota or a pool that is gone.
func (t *Trees) Forget(who types.UID) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.heard, who)
	delete(t.passed, who)
	delete(t.rebuilt, who)
}

// Restored says whether somebody has yet to rebuild the ledger since another one has shown that the store was put back.
// One that came after that has nothing to rebuild, if it is fresh.
func (t *Trees) Restored(who types.UID, fresh bool) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return !fresh && t.rebuilt[who] < t.restores
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
