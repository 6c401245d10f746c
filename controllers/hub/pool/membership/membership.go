// Package membership finds out what a FederatedQuota or a QuotaPool is to the pool above it, for the round that stores
// that together with its ledger.
package membership

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/validate"
)

// Child is an object that stands in a pool, or shall, as it was read live.
type Child struct {
	Key, UID string
	// Pool is the name of the pool that its spec names, or empty, and Stored what it was to its pool.
	Pool   string
	Stored *quotav1alpha1.PoolMembership
	// Own is its own budget.
	Own amount.List
	// Lost says that its ledger may have been lost, and Restored that its ledger, or another one of its tree, was put
	// back: then it takes up nothing that was offered before. Epoch is that of the round.
	Lost, Restored bool
	Epoch          int64
	// Counting says in words which of its own children a pool has yet to count since its ledger was rebuilt: it takes up
	// nothing before. It is empty if there is none.
	Counting string
}

// Finder reads pools.
type Finder struct {
	// Cached may return old versions, Live does not.
	Cached, Live client.Reader
}

// Find returns what a child is to its pool from now on, and in words why it is in none that its spec names, or goes on
// with what it took up before; nothing if neither is so. The child has to be read before.
func (f Finder) Find(ctx context.Context, c *Child) (m pool.Membership, trouble string, err error) {
	m = pool.MembershipOf(c.Stored)
	if c.Pool == "" {
		if m.Stands() {
			m = m.Leave(c.Epoch)
		}
		return m, "", nil
	}
	shown, err := f.cached(ctx, c.Pool)
	if err != nil {
		return m, "", err
	}
	if m.Name != c.Pool || shown == nil || string(shown.UID) != m.UID {
		if m, trouble, err = f.announce(ctx, c, m); err != nil {
			return m, "", err
		}
	}
	if c.Restored && m.Stands() {
		m = m.Floor(c.Epoch)
	}
	return f.goOn(ctx, c, m, shown, trouble)
}

// goOn takes up what the pool offers that a child stands in: the one that its spec names, or, until it can stand in
// that, the one that it is to leave.
func (f Finder) goOn(
	ctx context.Context, c *Child, m pool.Membership, shown *quotav1alpha1.QuotaPool, trouble string,
) (pool.Membership, string, error) {
	if m.Name != c.Pool && m.Stands() {
		var err error
		if shown, err = f.cached(ctx, m.Name); err != nil {
			return m, "", err
		}
	}
	if shown == nil || c.Counting != "" {
		return m, cmp.Or(trouble, c.Counting), nil
	}
	m, refused := takeUp(c, anew(c, m, shown), shown)
	return m, cmp.Or(refused, trouble), nil
}

// anew has a child announce itself anew in a pool that has no entry for it, and whose ledger may have been rebuilt
// since: what the one before has offered is of another tenure then, so the pool can tell what the child comes to have.
func anew(c *Child, m pool.Membership, shown *quotav1alpha1.QuotaPool) pool.Membership {
	_, offered := pool.OfferTo(c.Key, shown)
	if offered || m.UID != string(shown.UID) || !m.Frozen() || m.Floored() || !m.Outlives(shown.Status.Revision) {
		return m
	}
	return m.Announce(m.Name, m.UID, c.Epoch)
}

// announce has a child stand in the pool that its spec names, if there is one.
func (f Finder) announce(ctx context.Context, c *Child, m pool.Membership) (pool.Membership, string, error) {
	live := &metav1.PartialObjectMetadata{} // which is all that is asked for: a pool of many children is large
	live.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("QuotaPool"))
	err := f.Live.Get(ctx, client.ObjectKey{Name: c.Pool}, live)
	switch absent := apierrors.IsNotFound(err) || members.IsAbsentKind(err); {
	case err != nil && !absent:
		return m, "", fmt.Errorf("reading QuotaPool %s: %w", c.Pool, err)
	case absent:
		return m, fmt.Sprintf("there is no QuotaPool %s: create it, or name another one", c.Pool), nil
	case m.Name == c.Pool && m.UID == string(live.UID):
		return m, "", nil
	case !live.DeletionTimestamp.IsZero():
		return m, fmt.Sprintf("QuotaPool %s is being deleted: name another one", c.Pool), nil
	}
	m = m.Announce(c.Pool, string(live.UID), c.Epoch)
	if c.Lost {
		m = m.Floor(c.Epoch)
	}
	return m, "", nil
}

// takeUp takes up what the pool offers, unless it has no room for the child, or that has more names than there is room
// for.
func takeUp(c *Child, m pool.Membership, shown *quotav1alpha1.QuotaPool) (pool.Membership, string) {
	offer, offered := pool.OfferTo(c.Key, shown)
	switch {
	case !offered && len(shown.Status.Children) >= pool.MostChildren:
		return m, fmt.Sprintf("QuotaPool %s has room for %d children, and has as many: have another one leave it, or name "+
			"another pool", m.Name, pool.MostChildren)
	case !offered:
		return m, ""
	}
	next, _ := m.TakeUp(c.UID, offer)
	names := sets.KeySet(c.Own).Union(sets.KeySet(next.Cap))
	if names.Len() > validate.MostNames {
		return m, fmt.Sprintf("with the resources that QuotaPool %s limits there would be %d, and at most %d have room: "+
			"limit fewer", m.Name, names.Len(), validate.MostNames)
	}
	return next, ""
}

// cached returns a pool, nil if there is none, or none can be, since the kind is not served. It is not to be changed.
func (f Finder) cached(ctx context.Context, name string) (*quotav1alpha1.QuotaPool, error) {
	p := &quotav1alpha1.QuotaPool{}
	err := f.Cached.Get(ctx, client.ObjectKey{Name: name}, p, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || members.IsAbsentKind(err) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("reading QuotaPool %s: %w", name, err)
	}
	return p, nil
}

// Waiting says why a child that stands in a pool, or shall, raises nothing now; nothing if it may. Trouble is what Find
// returned.
func Waiting(wanted string, m pool.Membership, trouble string) string {
	switch {
	case m.Stands() && !m.Frozen(), wanted == "" && !m.Stands():
		return ""
	case trouble != "":
		return "What clusters have stays, and nothing is raised: " + trouble
	}
	return fmt.Sprintf("What clusters have stays, and nothing is raised until QuotaPool %s counts it: "+
		"see the conditions there", m.Name)
}

// Lagging says in words that a child goes by what a pool gave it last, and not by the one that its spec names; nothing
// if that is not so. Trouble is what Find returned.
func Lagging(m pool.Membership, trouble string) string {
	if trouble == "" || !m.Stands() || m.Frozen() {
		return ""
	}
	return fmt.Sprintf("It goes on with what QuotaPool %s gave it last: %s", m.Name, trouble)
}

// PoolOf returns the name of the pool that a FederatedQuota names, or nothing.
func PoolOf(fq *quotav1alpha1.FederatedQuota) string {
	if fq.Spec.Pool == nil {
		return ""
	}
	return string(fq.Spec.Pool.Name)
}

// Capped returns what a child may have granted, of the names that it can count.
func Capped(m pool.Membership, own amount.List, counts func(corev1.ResourceName) bool) amount.List {
	most := make(amount.List, len(m.Cap))
	for name, value := range m.Cap {
		if counts(name) {
			most[name] = value
		}
	}
	m.Cap = most
	return m.Budget(own)
}
