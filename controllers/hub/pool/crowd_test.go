package pool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
)

// crowd is a pool of 20,000 pods with as many children as there is room for, of which each was granted 7.
type crowd struct {
	*testing.T
	*shelf

	r     *Reconciler
	clock *clocktesting.FakeClock
}

// late is how many come that find no room.
const late = 5

// newCrowd returns a crowd, with late ones of which each has so many pods, as a hub manager sees it that has just started.
func newCrowd(t *testing.T, pods int64) *crowd {
	t.Helper()
	s := newShelf(pool.MostChildren, 0)
	s.comeLate(late, pods)
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &crowd{T: t, shelf: s, clock: clock, r: &Reconciler{
		Client: s, Live: s, Needs: &Needs{}, Trees: &trees.Trees{}, Clock: clock, Recorder: events.NewFakeRecorder(1000),
	}}
}

// rounds has the pool make rounds, after each of which all others make one, and take up what they are offered.
func (c *crowd) rounds(count int) {
	c.Helper()
	for range count {
		if _, err := c.r.Reconcile(c.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "vision"}}); err != nil {
			c.Fatal(err)
		}
		c.clock.Step(10 * time.Second)
		for i := range c.all {
			fq := &c.all[i]
			key, m := pool.QuotaKey(fq.Namespace, fq.Name), pool.MembershipOf(fq.Status.Pool)
			if offer, offered := pool.OfferTo(key, c.pool); offered {
				m, _ = m.TakeUp(string(fq.UID), offer)
			} else {
				m = c.finds(key, fq)
			}
			fq.Status.Pool = m.Stored(fq.Spec.Hard)
		}
	}
	if n := len(c.pool.Status.Children); n != pool.MostChildren {
		c.Fatalf("%d children are stored", n)
	}
}

// finds has one that the pool offers nothing find out what it is to the pool.
func (c *crowd) finds(key string, fq *quotav1alpha1.FederatedQuota) pool.Membership {
	c.Helper()
	m, _, err := membership.Finder{Cached: c.shelf, Live: c.shelf}.Find(c.Context(), &membership.Child{
		Key: key, UID: string(fq.UID), Pool: "vision", Stored: fq.Status.Pool, Epoch: ledger.Epoch(c.clock.Now()),
	})
	if err != nil {
		c.Fatal(err)
	}
	return m
}

// has says whether a child has an entry, and what it was granted of pods.
func (c *crowd) has(key quotav1alpha1.ChildKey) (granted int64, entered bool) {
	i := slices.IndexFunc(c.pool.Status.Children, func(s quotav1alpha1.ChildStatus) bool { return s.Key == key })
	if i < 0 {
		return 0, false
	}
	q := c.pool.Status.Children[i].Granted[corev1.ResourcePods]
	return q.Value(), true
}

// leftOut returns what the pool says of those for whom there is no room.
func (c *crowd) leftOut() string {
	full := apimeta.FindStatusCondition(c.pool.Status.Conditions, quotav1alpha1.ConditionLedgerFull)
	if full == nil {
		return ""
	}
	return full.Message
}

const (
	early     = quotav1alpha1.ChildKey("FederatedQuota/ns-00000/budget")
	firstLate = quotav1alpha1.ChildKey("FederatedQuota/late-4/budget") // which has come first
)

// TestCrowdIsServed has more children name a pool than there is room for, with a hub manager that has just started: those
// that are in it get what is free, which is what the others do not have.
func TestCrowdIsServed(t *testing.T) {
	for name, tc := range map[string]struct {
		late, want int64
	}{
		"the others have nothing":   {want: 50},
		"the others have something": {late: 1000, want: 50},
		"the others have the rest":  {late: 1200, want: 7},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, tc.late)
			c.pool.Spec.Rebalance.HeadroomPercent = new(int32(0))
			c.all[0].Status.Demand = several(50)
			c.rounds(1)
			if got, _ := c.has(early); got < tc.want || tc.want == 7 && got > 7 {
				t.Errorf("one that asks for 50 is granted %d, want %d", got, tc.want)
			}
			if all := c.pool.Status.Granted[corev1.ResourcePods]; all.Value() < 5*tc.late || all.Value() > 20000 {
				t.Errorf("%s are granted in all", all.String())
			}
			if got := c.leftOut(); !strings.Contains(got, "FederatedQuota/late-0/budget") {
				t.Errorf("the pool says %q of the others", got)
			}
			if !apimeta.IsStatusConditionTrue(c.pool.Status.Conditions, quotav1alpha1.ConditionReady) {
				t.Errorf("the pool says %+v", c.pool.Status.Conditions)
			}
		})
	}
}

// TestCrowdIsRebuilt has the ledger of the pool be lost: those that have taken something up are in it again, and are
// served once they have confirmed what they have, and the others have announced themselves anew.
func TestCrowdIsRebuilt(t *testing.T) {
	c := newCrowd(t, 1)
	c.pool.Status.Revision, c.pool.Status.Children = 0, nil
	c.all[0].Status.Demand = several(50)
	c.rounds(3)
	if got, _ := c.has(early); got < 50 {
		t.Errorf("one that asks for 50 is granted %d: %+v", got, c.pool.Status.Conditions)
	}
	if _, entered := c.has(firstLate); entered || c.leftOut() == "" {
		t.Error("others have come in instead of those that were there")
	}
}

// TestCrowdIsRestored has the hub's store be put back: the pool rebuilds its ledger over those that are in it. The others
// may have been in it since the backup, so nobody is raised while they are there and have no entry.
func TestCrowdIsRestored(t *testing.T) {
	c := newCrowd(t, 0)
	epoch := ledger.Epoch(c.clock.Now())
	c.r.Trees.Hear("another", epoch)
	for i := range c.all {
		fq := &c.all[i]
		fq.Status.Pool = pool.MembershipOf(fq.Status.Pool).Floor(epoch).Stored(nil)
	}
	c.all[0].Status.Demand = several(50)
	c.rounds(3)
	if got, _ := c.has(early); got > 7 {
		t.Errorf("it is granted %d, and nobody knows what others have", got)
	}
	if _, entered := c.has(firstLate); entered {
		t.Error("others have come in instead of those that were there")
	}
	ready := apimeta.FindStatusCondition(c.pool.Status.Conditions, quotav1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, "FederatedQuota/late-0/budget") {
		t.Errorf("the pool says %q", ready.Message)
	}
	c.all = c.all[:pool.MostChildren]
	c.rounds(2)
	if got, _ := c.has(early); got < 50 {
		t.Errorf("one that asks for 50 is granted %d: %+v", got, c.pool.Status.Conditions)
	}
}

// TestCrowdMovesUp has one leave a pool: who has come first of those that wait comes in, also after a restore.
func TestCrowdMovesUp(t *testing.T) {
	for name, restored := range map[string]bool{"after a restore": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 0)
			c.rounds(1)
			if restored {
				c.all[len(c.all)-1].Status.Pool.Revision = c.pool.Status.Revision
			}
			c.all = slices.Delete(c.all, 3, 4)
			c.rounds(1)
			if _, entered := c.has(firstLate); !entered || strings.Contains(c.leftOut(), string(firstLate)) {
				t.Errorf("nobody has come in for one that has gone: %s", c.leftOut())
			}
			if c.pool.Status.Revision >= ledger.Epoch(c.clock.Now()) {
				t.Error("the ledger is rebuilt")
			}
		})
	}
}

// TestWhatIsForgotten has children come and go: what is remembered of them goes as well.
func TestWhatIsForgotten(t *testing.T) {
	now, m := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), &memory{moved: map[string]time.Time{}}
	for i := range 100 {
		moved := round.Limits{corev1.ResourcePods: {From: 5, To: 4}}
		m.note(map[string]round.Limits{fmt.Sprint("FederatedQuota/vision/q-", i): moved}, now, time.Minute)
		now = now.Add(20 * time.Second)
	}
	if len(m.moved) != 3 {
		t.Errorf("%d moves are remembered, and those of the last minute are 3", len(m.moved))
	}
}

// TestWordsForWhoFindsNoRoom has a child be told why it gets nothing.
func TestWordsForWhoFindsNoRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		children int
		want     string
	}{
		"there is room": {children: 10, want: "until QuotaPool vision counts it"},
		"there is none": {children: pool.MostChildren, want: "QuotaPool vision has room for 2000 children"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(tc.children, 0)
			stored := &quotav1alpha1.PoolMembership{Name: "vision", UID: "u-vision", Tenure: 1}
			m, trouble, err := membership.Finder{Cached: s, Live: s}.Find(t.Context(), &membership.Child{
				Key: pool.QuotaKey("late", "budget"), UID: "u-late", Pool: "vision", Stored: stored,
			})
			if got := membership.Waiting("vision", m, trouble); err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("it says %q, %v: want %q", got, err, tc.want)
			}
		})
	}
}
