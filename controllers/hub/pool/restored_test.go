package pool

import (
	"context"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

// rebuilt says whether the ledger of a pool counts on in the present epoch.
func (w *world) rebuilt(p *quotav1alpha1.QuotaPool) bool {
	return p.Status.Revision >= ledger.Epoch(w.clock.Now())
}

// TestRestoreIsOfEachPool has another ledger of the hub show that the store was put back: a pool whose own children show
// nothing of it rebuilds its ledger as well, once.
func TestRestoreIsOfEachPool(t *testing.T) {
	w := newWorld(t)
	w.round()
	vision := w.announces("vision", "2")
	w.takesUp(vision, "2", nil, "")
	if w.rebuilt(w.round()) {
		t.Fatal("the ledger is rebuilt although nothing was put back")
	}
	w.r.Trees.Hear("another", ledger.Epoch(w.clock.Now()))
	p := w.round()
	if !w.rebuilt(p) {
		t.Error("the ledger goes on as it was put back")
	}
	if again := w.round(); again.Status.Revision != p.Status.Revision {
		t.Errorf("the ledger goes from revision %d to %d: want it rebuilt once", p.Status.Revision, again.Status.Revision)
	}
}

// TestRestoreOutlivesTheHubManager has the hub manager start again after a pool has rebuilt its ledger: the pool tells it
// of the restore, by which it does not rebuild once more.
func TestRestoreOutlivesTheHubManager(t *testing.T) {
	w := newWorld(t)
	w.round()
	vision := w.announces("vision", "2")
	w.takesUp(vision, "2", nil, "")
	restore := ledger.Epoch(w.clock.Now())
	w.r.Trees.Hear("another", restore)
	p := w.round()
	w.r.Trees = &trees.Trees{}
	if again := w.round(); again.Status.Revision != p.Status.Revision {
		t.Errorf("the ledger goes from revision %d to %d: want it rebuilt once", p.Status.Revision, again.Status.Revision)
	}
	if got := w.r.Trees.Last(); got != restore {
		t.Errorf("the restore that is known is %d: want %d", got, restore)
	}
}

// TestLossIsNoRestore has a budget know more than its pool does, because the ledger of one of them was lost: that says
// nothing of other ledgers.
func TestLossIsNoRestore(t *testing.T) {
	w := newWorld(t)
	w.round()
	vision := w.announces("vision", "2")
	w.takesUp(vision, "2", nil, "")
	vision.Status.Pool.Revision = w.round().Status.Revision + ledger.Gap
	if err := w.Status().Update(t.Context(), vision); err != nil {
		t.Fatal(err)
	}
	w.r.Trees = &trees.Trees{}
	if !w.rebuilt(w.round()) {
		t.Error("the ledger goes on as it is")
	}
	if got := w.r.Trees.Last(); got != 0 {
		t.Errorf("restore %d is known, and there was none", got)
	}
}

// TestPoolOfAfterARestore has a pool come after a restore: it has nothing to rebuild.
func TestPoolOfAfterARestore(t *testing.T) {
	w := newWorld(t)
	w.r.Trees.Hear("another", ledger.Epoch(w.clock.Now()))
	if w.rebuilt(w.round()) {
		t.Error("the ledger is rebuilt")
	}
}

// TestEntryOfWhoNeverLeft has a cache show a budget that left its pool, which the hub's store has forgotten: what the
// budget has still counts.
func TestEntryOfWhoNeverLeft(t *testing.T) {
	w := newWorld(t)
	w.round()
	w.takesUp(w.announces("vision", "2"), "2", nil, "")
	w.r.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if quotas, ok := list.(*quotav1alpha1.FederatedQuotaList); ok {
				for i := range quotas.Items {
					quotas.Items[i].Status.Pool = &quotav1alpha1.PoolMembership{Tenure: 99}
				}
			}
			return err
		},
	})
	if got := granted(w.round()); len(got) != 1 {
		t.Errorf("the pool counts %v", got)
	}
}

// TestRebuiltPoolWaits has a pool, which has raised a budget, rebuild its ledger while another budget has forgotten that
// it stands there: nobody is raised until that one is counted, whatever the pool did before.
func TestRebuiltPoolWaits(t *testing.T) {
	w := newWorld(t)
	w.round()
	vision := w.announces("vision", "2")
	for _, use := range []string{"2", "8"} {
		w.takesUp(vision, use, pods("6"), "")
	}
	const key = "FederatedQuota/vision/compute"
	if got := granted(w.round())[key]; got == "2" {
		t.Fatalf("the pool grants %s of 24, and nobody else is in it", got)
	}

	speech := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "speech", Name: "compute", UID: "u-speech"}}
	speech.Spec.Pool, speech.Spec.Hard = &quotav1alpha1.PoolReference{Name: "research"}, pods("20")
	if err := w.Create(t.Context(), speech); err != nil {
		t.Fatal(err)
	}
	w.takesUp(vision, "8", nil, "")
	had := granted(w.round())[key]
	vision.Status.Pool.Revision += 1 << 30 // which the ledger has not given: it was put back
	if err := w.Status().Update(t.Context(), vision); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.takesUp(vision, had, pods("1"), "")
	}
	after := granted(w.round())[key]
	if now := resource.MustParse(after); now.Cmp(resource.MustParse(had)) > 0 {
		t.Errorf("the pool raises from %s to %s, and does not know what speech has", had, after)
	}
}

// TestRebuiltPoolTakesUpNothing has a pool below another one rebuild its ledger while a budget has forgotten that it
// stands there: the pool says nothing of what it counts to the one above until that budget is counted, too.
func TestRebuiltPoolTakesUpNothing(t *testing.T) {
	w := newWorld(t)
	acme := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "acme", UID: "u-acme", Generation: 1}}
	acme.Spec.Hard, acme.Spec.AllowedNamespaces.Selector = pods("24"), &metav1.LabelSelector{}
	if err := w.Create(t.Context(), acme); err != nil {
		t.Fatal(err)
	}
	w.below("research", "acme")
	turns := func() *quotav1alpha1.QuotaPool {
		t.Helper()
		for range 3 {
			w.roundOf("acme")
			w.round()
		}
		return w.round()
	}
	if own := pool.MembershipOf(turns().Status.Pool); own.Frozen() {
		t.Fatalf("without a restore research is %+v", own)
	}

	speech := w.announces("speech", "2")
	announced := speech.Status.Pool
	speech.Status.Pool = nil
	if err := w.Status().Update(t.Context(), speech); err != nil {
		t.Fatal(err)
	}
	cached := w.r.Client
	w.r.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{ // the cache does not show speech yet
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if quotas, ok := list.(*quotav1alpha1.FederatedQuotaList); ok {
				quotas.Items = nil
			}
			return err
		},
	})
	w.r.Trees.Hear("another", ledger.Epoch(w.clock.Now()))
	if own := pool.MembershipOf(turns().Status.Pool); !own.Frozen() {
		t.Errorf("the cache does not show speech, and it is %+v", own)
	}
	w.r.Client = cached
	p := turns()
	if own := pool.MembershipOf(p.Status.Pool); !own.Frozen() {
		t.Errorf("it does not know what speech has, and is %+v", own)
	}
	ready := apimeta.FindStatusCondition(p.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || !strings.Contains(ready.Message, "FederatedQuota/speech/compute has yet to be counted here") {
		t.Errorf("nobody says why: %+v", ready)
	}
	speech.Status.Pool = announced
	if err := w.Status().Update(t.Context(), speech); err != nil {
		t.Fatal(err)
	}
	if own := pool.MembershipOf(turns().Status.Pool); own.Frozen() {
		t.Errorf("although all are counted it is %+v", own)
	}
	if counted := resource.MustParse(granted(w.roundOf("acme"))["QuotaPool/research"]); counted.CmpInt64(2) < 0 {
		t.Errorf("acme counts %s of research, of which speech has 2", &counted)
	}
}
