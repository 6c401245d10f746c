package quota

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestNewBudgetDoesNotWaitForAClusterThatIsAway has a cluster be away that another budget knows, and of which nobody
// can say by itself that it holds nothing of a budget that was just created.
func TestNewBudgetDoesNotWaitForAClusterThatIsAway(t *testing.T) {
	w := besideAnother(t, "east", "west", "north")
	w.cutOff("north")
	w.agents["east"].uses(list("pods", "2"))
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 0/0 Unread", "west 10/10 Settled")
	w.restart()
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 0/0 Unread", "west 10/10 Settled")
	w.reconnect("north")
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 5/5 Settled", "west 10/10 Settled")
}

// TestNewBudgetThatNobodyHeardOf has a hub manager start again before it could tell anybody: the next one cannot know
// what came in between.
func TestNewBudgetThatNobodyHeardOf(t *testing.T) {
	for name, tc := range map[string]struct {
		restart bool
		want    string
	}{
		"it goes on":      {want: "west 0/0 Unread"},
		"it starts again": {restart: true, want: "west 0/9223372036854775807 Unread"},
	} {
		t.Run(name, func(t *testing.T) {
			w := besideAnother(t, "east", "west")
			w.cutOff("east")
			w.cutOff("west")
			w.create(quotaName, weighted2)
			w.round()
			w.wantLedger("east 0/0 Unread", "west 0/0 Unread")
			if tc.restart {
				w.restart()
			}
			w.reconnect("east")
			w.settle()
			east := "east 10/10 Settled"
			if tc.restart {
				east = "east 0/0 Settled"
			}
			w.wantLedger(east, tc.want)
		})
	}
}

// tear takes a FederatedQuota away although nobody has let go of it, and returns what it was.
func (w *world) tear() *quotav1alpha1.FederatedQuota {
	w.t.Helper()
	fq := w.quota()
	fq.Finalizers = nil
	w.must(servers[hubName].Update(w.t.Context(), fq))
	w.must(servers[hubName].Delete(w.t.Context(), fq))
	return fq
}

// TestBudgetAfterOneThatWasTornAway creates a FederatedQuota anew whose finalizer somebody has torn off, while north is
// away that holds a share of the old one. It shows by who else holds one, or by the old object itself.
func TestBudgetAfterOneThatWasTornAway(t *testing.T) {
	for name, tc := range map[string]struct {
		first string
		seen  bool
		want  []string
	}{
		"another cluster holds a share": {
			first: weighted, want: []string{"east 15/15 Settled", "north 0/9223372036854775807 Unread", "west 10/10 Settled"},
		},
		"the hub manager saw it go": {
			first: mostOf("north", "north", "30"), seen: true,
			want: []string{"east 0/0 Settled", "north 0/9223372036854775807 Unread", "west 0/0 Settled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := besideAnother(t, "east", "west", "north")
			w.create(quotaName, tc.first)
			w.settle()
			w.cutOff("north")
			w.restart() // it has never read what north holds
			old := w.tear()
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer queue.ShutDown()
			if tc.seen {
				w.hub.births.Delete(t.Context(), event.DeleteEvent{Object: old}, queue)
			}
			w.create(quotaName, weighted)
			w.hub.births.Create(t.Context(), event.CreateEvent{Object: w.quota()}, queue)
			w.settle()
			w.wantLedger(tc.want...)
		})
	}
}

// TestBudgetAfterOneThatLostItsLedger deletes a FederatedQuota whose ledger was lost, while north is away that holds a share
// of it: nobody waits for north, and the next budget of that name does.
func TestBudgetAfterOneThatLostItsLedger(t *testing.T) {
	w := besideAnother(t, "east", "west", "north")
	w.create(quotaName, mostOf("north", "north", "30"))
	w.settle()
	w.cutOff("north")
	old := w.quota()
	old.Status = quotav1alpha1.FederatedQuotaStatus{}
	w.must(servers[hubName].Status().Update(t.Context(), old))
	w.must(servers[hubName].Delete(t.Context(), old))
	w.settle()
	if !w.gone() {
		t.Fatal("the deletion waits for a cluster that is away")
	}
	w.restart() // it has seen no ledger be rebuilt
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	w.hub.births.Delete(t.Context(), event.DeleteEvent{Object: old}, queue)
	w.create(quotaName, weighted)
	w.hub.births.Create(t.Context(), event.CreateEvent{Object: w.quota()}, queue)
	w.settle()
	w.wantLedger("east 0/0 Settled", "north 0/9223372036854775807 Unread", "west 0/0 Settled")
}

// TestNewBudgetAndAClusterThatRefuses has a cluster answer, hold nothing, and take nothing: the others do not wait.
func TestNewBudgetAndAClusterThatRefuses(t *testing.T) {
	w := besideAnother(t, "east", "west")
	w.before = func(write string) error {
		if write == "west: create QuotaShare "+quotaName {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "quotashares"}, quotaName, nil)
		}
		return nil
	}
	w.create(quotaName, weighted2)
	for range 8 {
		w.round()
		w.act()
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	w.wantLedger("east 10/10 Settled", "west 0/0 NotReady")
}

// TestFresh says when nobody can have been told of a budget.
func TestFresh(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		happens func(b *births, fq *quotav1alpha1.FederatedQuota)
		steady  time.Time
		want    bool
	}{
		"its birth was attended":    {want: true},
		"its birth was not":         {happens: func(b *births, fq *quotav1alpha1.FederatedQuota) { b.attended.Delete(fq.UID) }},
		"a round told nobody":       {happens: func(b *births, fq *quotav1alpha1.FederatedQuota) { fq.Status.Revision = 9; b.leave(fq, begin) }, want: true},
		"somebody else has decided": {happens: func(_ *births, fq *quotav1alpha1.FederatedQuota) { fq.Status.Revision = 9 }},
		"its ledger was lost":       {happens: func(_ *births, fq *quotav1alpha1.FederatedQuota) { fq.Status.Revision = 0 }},
		"somebody was told": {happens: func(b *births, fq *quotav1alpha1.FederatedQuota) {
			fq.Status.Clusters = []quotav1alpha1.ClusterStatus{{Name: "east", Revision: 9}}
			b.leave(fq, begin)
			fq.Status.Clusters = nil
			b.leave(fq, begin)
		}},
		"the hub manager stood still":  {steady: begin.Add(time.Hour)},
		"another ledger had gone back": {happens: func(b *births, _ *quotav1alpha1.FederatedQuota) { b.doubted.Store(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			b, fq := &births{}, &quotav1alpha1.FederatedQuota{}
			fq.UID, fq.Status.Revision = "uid", 1
			b.attended.Store(fq.UID, shares.Birth{})
			b.leave(fq, begin)
			if tc.happens != nil {
				tc.happens(b, fq)
			}
			if tc.steady.IsZero() {
				tc.steady = begin
			}
			if got := b.fresh(fq, tc.steady); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
