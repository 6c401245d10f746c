package quota

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// trees is what this process knows of the FederatedQuotas that are in pools. If the hub's store was put back, a member
// of one of them may show it, and then it is so of all ledgers of that tree: before each of them has heard its members
// once, nothing is decided in it, and once one shows it, all are rebuilt. Its zero value is ready to use.
type trees struct {
	mutex sync.Mutex
	// heard are those that have had a round, passed those that need not wait for others any more.
	heard, passed map[types.UID]bool
	// restores counts how often one has shown that the store was put back, and rebuilt is up to which of these each has
	// rebuilt its ledger.
	restores int
	rebuilt  map[types.UID]int
}

// hear notes that the members of a FederatedQuota were heard, and whether they have shown that the store was put back.
func (t *trees) hear(quota types.UID, shown bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.heard == nil {
		t.heard, t.passed, t.rebuilt = map[types.UID]bool{}, map[types.UID]bool{}, map[types.UID]int{}
	}
	t.heard[quota] = true
	if shown {
		t.restores++
	}
}

// rebuild notes that a FederatedQuota has stored a rebuilt ledger, which counts for so many restores.
func (t *trees) rebuild(quota types.UID, restores int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.rebuilt[quota] = restores
}

// known returns how many restores were shown until now.
func (t *trees) known() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.restores
}

// forget drops what is known of a FederatedQuota that is gone.
func (t *trees) forget(quota types.UID) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.heard, quota)
	delete(t.passed, quota)
	delete(t.rebuilt, quota)
}

// restored says whether a FederatedQuota has yet to rebuild its ledger since another one has shown that the store was
// put back. One that came after that has nothing to rebuild.
func (t *trees) restored(quota types.UID, fresh bool) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return !fresh && t.rebuilt[quota] < t.restores
}

// isPast says whether a FederatedQuota need not wait for others any more.
func (t *trees) isPast(quota types.UID) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.passed[quota]
}

// waits says whether a FederatedQuota has to wait until others are heard, or itself if it stands in a pool.
func (t *trees) waits(quota types.UID, others []types.UID, stands bool) bool {
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
