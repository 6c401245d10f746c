package quota

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestNamesThatTheCacheDoesNotShow has the names of a budget change twice while the cache shows the share of before: a
// name that is left in the share would look like what another ledger has written.
func TestNamesThatTheCacheDoesNotShow(t *testing.T) {
	spec := func(name, most string) string {
		return fmt.Sprintf(`
hard: {pods: "30", %s: "9"}
placement: {clusters: [east, west]}
distribution: {rules: [{max: {pods: %q}}]}
rebalance: {mode: Static}`, name, most)
	}
	w := newWorld(t, "east", "west")
	w.create(quotaName, spec("configmaps", "5"))
	w.settle()
	old, read := w.share("west"), w.members.byName["west"].client
	w.members.byName["west"].cache = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if share, ok := object.(*quotav1alpha1.QuotaShare); ok {
				old.DeepCopyInto(share)
				return nil
			}
			return read.Get(ctx, key, object, options...)
		},
	})
	for _, name := range []string{"services", "secrets"} {
		w.edit(spec(name, "5"))
		w.round()
	}
	w.members.byName["west"].cache = nil
	w.round()
	w.round()
	w.wantLedger("east 5/5 Settling", "west 5/5 Settling")
	w.edit(spec("secrets", "8"))
	w.settle()
	w.wantLedger("east 8/8 Settled", "west 8/8 Settled")
}

// TestLateOrderToRemove has an old leader order a share to be removed after another one has selected the cluster again:
// nobody is to drop the limit if the share should be deleted.
func TestLateOrderToRemove(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east", "10"))
	w.settle()
	w.edit(mostOf("east", "east", "10") + "\nremoval: {policy: Delete}")
	w.round()
	w.act()
	late, other, inner := w.hub, w.newHub(), w.members.byName["west"].client
	ordered := false
	w.members.byName["west"].cache = inner
	w.members.byName["west"].client = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			ordered = true
			w.members.byName["west"].client, w.hub = inner, other
			w.edit(mostOf("east, west", "east", "10") + "\nremoval: {policy: Delete}")
			w.settle()
			w.wantLedger("east 10/10 Settled", "west 20/20 Settled")
			return inner.Patch(ctx, object, patch, options...)
		},
	})
	if _, err := late.Reconcile(t.Context(), w.request(quotaName)); err != nil {
		t.Log("the old leader:", err)
	}
	if !ordered {
		t.Fatal("the old leader has ordered nothing")
	}
	if policy := w.share("west").Annotations[quotav1alpha1.RemovalAnnotation]; policy != "" {
		t.Errorf("a share in force is ordered to be removed: %s", policy)
	}
}

// TestLateUpdateOfAShareThatIsGone has a leader with an old cache write to the share that came in the place of the one
// it has read.
func TestLateUpdateOfAShareThatIsGone(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east", "10"))
	w.settle()
	old, inner := w.share("west"), w.members.byName["west"].client
	w.members.byName["west"].cache = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			old.DeepCopyInto(object.(*quotav1alpha1.QuotaShare))
			return nil
		},
	})
	w.loseShare("west")
	other := old.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Finalizers: old.Finalizers}
	other.Spec.Revision, other.Spec.Hard = 1, list("pods", "0")
	w.must(client.WithFieldOwner(inner, quotav1alpha1.HubFieldManager).Create(t.Context(), other))
	w.edit(mostOf("east, west", "west", "5"))
	_, err := w.reconcile(quotaName)
	if got := w.share("west"); got.Spec.Revision != 1 {
		t.Errorf("what was decided for a share that is gone is written to another one: %v", got.Spec)
	}
	if err == nil {
		t.Error("the round does not end by an error, which has the next one begin at once")
	}
	w.members.byName["west"].cache = nil
	w.settle()
	w.wantLedger("east 25/25 Settled", "west 5/5 Settled")
}

// TestLateCreate has the create of an old leader arrive after share and ResourceQuota, and with them all that would
// refuse it, were deleted by hand, and after what the cluster had was given to another one.
func TestLateCreate(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east", "10"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")
	w.loseShare("west")
	late, other, inner := w.hub, w.newHub(), w.members.byName["west"].client
	created := false
	w.members.byName["west"].client = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			created = true
			w.members.byName["west"].client, w.hub = inner, other
			w.edit(mostOf("east, west", "west", "5"))
			w.settle()
			w.wantLedger("east 25/25 Settled", "west 5/5 Settled")
			w.loseShare("west")
			w.agents["west"].hard, w.agents["west"].revision = nil, 0
			return inner.Create(ctx, object, options...)
		},
	})
	if _, err := late.Reconcile(t.Context(), w.request(quotaName)); err != nil {
		t.Log("the old leader:", err)
	}
	if !created {
		t.Fatal("the old leader has created nothing")
	}
	if got := w.share("west"); len(got.Spec.Hard) != 1 || !got.Spec.Hard["pods"].Equal(resource.MustParse("0")) {
		t.Errorf("what was decided for a share that is gone is given by another one: %v", got.Spec)
	}
	w.settle()
	w.wantLedger("east 25/25 Settled", "west 5/5 Settled")
}

// TestRevisionsNearTheMost has somebody write the highest revision that a ledger may have given: it goes on above, and
// by its own.
func TestRevisionsNearTheMost(t *testing.T) {
	for name, write := range map[string]func(w *world){
		"on a Cluster": func(w *world) {
			cluster := w.cluster("west")
			cluster.Annotations = map[string]string{quotav1alpha1.MemberAnnotation: strconv.FormatInt(ledger.MostRevision, 10)}
			w.must(servers[hubName].Update(t.Context(), cluster))
			w.create(quotaName, mostOf("east, west", "east", "10"))
		},
		"on a share": func(w *world) {
			w.create(quotaName, mostOf("east, west", "east", "10"))
			w.settle()
			share := w.share("west")
			share.Spec.Revision = ledger.MostRevision
			w.must(servers["west"].Update(t.Context(), share))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			write(w)
			w.settle()
			w.edit(mostOf("east, west", "west", "10"))
			w.settle()
			w.wantLedger("east 20/20 Settled", "west 10/10 Settled")
		})
	}
}

// looked is a world whose hub manager has looked at all stores long ago. East has 10, and nobody else is selected.
func looked(t *testing.T) *world {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east", "east", "10"))
	w.settle()
	w.begins("east", "west")
	w.hub.Stores.Look(t.Context(), everyone)
	w.settle()
	w.clock.SetTime(w.clock.Now().Add(2 * pace.Looking))
	return w
}

// TestPausedLeaderOverARestore stops a hub manager that has looked at all stores. Another one gives west 20, the hub is
// restored to before that, and the first one goes on: what it knows of the stores is older than the ledger.
func TestPausedLeaderOverARestore(t *testing.T) {
	w := looked(t)
	paused := w.hub
	paused.Stores.Alive()
	old := w.quota().Status

	w.hub = w.newHub()
	w.edit(mostOf("east, west", "east", "10"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")

	w.edit(mostOf("east", "east", "30"))
	w.replaceStatus(old)
	w.unmark("west")
	w.clock.SetTime(w.clock.Now().Add(pace.Standstill))
	w.hub = paused
	w.judged(2, pace.FirstLookInterval)
	w.hub.Stores.Look(t.Context(), everyone)
	w.judged(4, time.Second)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestRestoreRightAfterAJoin restores the hub before a look has found the share that this very hub manager has written.
func TestRestoreRightAfterAJoin(t *testing.T) {
	w := looked(t)
	old := w.quota().Status
	w.edit(mostOf("east, west", "east", "10"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")

	w.edit(mostOf("east", "east", "30"))
	w.replaceStatus(old)
	w.unmark("west")
	w.judged(4, pace.FirstLookInterval)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}
