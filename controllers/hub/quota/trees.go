package quota

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/validate"
)

// trees is what this process knows of the FederatedQuotas that are in pools. If the hub's store was put back, a member of
// one of them may show it, and then it is so of all ledgers of that tree: before each of them has heard its members once,
// nothing is decided in it, and once one shows it, all are rebuilt. Its zero value is ready to use.
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

// heardOf notes what a round has heard of a FederatedQuota that is in a pool, before it is stored: one whose status
// cannot be stored holds up nobody.
func (r *Reconciler) heardOf(s *scope) {
	if !s.membership.Stands() {
		return
	}
	shown := s.decision.Rebuilt && !s.in.Restored
	r.trees.hear(s.fq.UID, shown)
	if shown {
		s.restores++
	}
}

// rebuiltOf notes a round that is stored.
func (r *Reconciler) rebuiltOf(s *scope) {
	if s.membership.Stands() && (s.decision.Rebuilt || s.in.Restored) {
		r.trees.rebuild(s.fq.UID, s.restores)
	}
}

// restored says whether a FederatedQuota has yet to rebuild its ledger since another one has shown that the store was put
// back. One that came after that has nothing to rebuild.
func (t *trees) restored(quota types.UID, fresh bool) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return !fresh && t.rebuilt[quota] < t.restores
}

// waits says whether a FederatedQuota has to wait until others of its tree are heard.
func (r *Reconciler) waits(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (bool, error) {
	t := r.trees
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.passed[fq.UID] {
		return false, nil
	}
	others, err := r.sameTree(ctx, fq)
	if err != nil {
		return false, err
	}
	unheard := func(uid types.UID) bool { return !t.heard[uid] }
	if slices.ContainsFunc(others, unheard) {
		return true, nil
	}
	if t.heard[fq.UID] {
		t.passed[fq.UID] = true
	}
	return !t.heard[fq.UID] && standsIn(fq), nil
}

// sameTree returns the other FederatedQuotas that are in pools below the same root.
func (r *Reconciler) sameTree(ctx context.Context, fq *quotav1alpha1.FederatedQuota) ([]types.UID, error) {
	var all quotav1alpha1.QuotaPoolList
	var quotas quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil && !members.IsAbsentKind(err) {
		return nil, fmt.Errorf("listing QuotaPools: %w", err)
	}
	if err := r.List(ctx, &quotas, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	parents := validate.Parents{}
	for i := range all.Items {
		parents[quotav1alpha1.PoolName(all.Items[i].Name)] = all.Items[i].Spec.Parent
	}
	own := rootOf(parents, fq)
	var others []types.UID
	for i := range quotas.Items {
		if other := &quotas.Items[i]; other.UID != fq.UID && standsIn(other) && !ended(other) && rootOf(parents, other) == own {
			others = append(others, other.UID)
		}
	}
	return others, nil
}

// standsIn says whether a FederatedQuota has stored that it is in a pool.
func standsIn(fq *quotav1alpha1.FederatedQuota) bool {
	return fq.Status.Pool != nil && fq.Status.Pool.UID != ""
}

// ended says whether no more rounds are made of a FederatedQuota: it is being deleted, and somebody else keeps it.
func ended(fq *quotav1alpha1.FederatedQuota) bool {
	return !fq.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(fq, quotav1alpha1.Finalizer)
}

// rootOf returns the pool at the root of the tree that a FederatedQuota is in, or names.
func rootOf(parents validate.Parents, fq *quotav1alpha1.FederatedQuota) quotav1alpha1.PoolName {
	name := quotav1alpha1.PoolName(membership.PoolOf(fq))
	if fq.Status.Pool != nil && fq.Status.Pool.Name != "" {
		name = fq.Status.Pool.Name
	}
	if above, _ := parents.Above(name); len(above) > 0 {
		return above[len(above)-1]
	}
	return name
}
