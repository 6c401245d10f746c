package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// TestLostLedgerOfADeselectedCluster loses the ledger while a cluster that is no longer selected still enforces its
// share.
func TestLostLedgerOfADeselectedCluster(t *testing.T) {
	w := newWorld(t, "east", "west", "north")
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 5/5 Settled", "west 10/10 Settled")
	w.agents["west"].uses(list("pods", "7"))
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.edit(eastOnly)
	w.restart()
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
	if w.share("north") != nil {
		t.Error("north still has its share")
	}
}

// TestLostLedgerOfADeselectedClusterThatIsAway cannot know what that cluster holds.
func TestLostLedgerOfADeselectedClusterThatIsAway(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.edit(eastOnly)
	w.restart()
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/9223372036854775807 Unread")
	w.wantConditions("!Ready Degraded", "Rebuilding Unread", "Reconciling Degraded")
	w.members.byName["west"].err = nil
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestRolledBackLedgerOfADeselectedCluster puts the ledger back to before a cluster joined, which is not selected then.
func TestRolledBackLedgerOfADeselectedCluster(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, eastOnly)
	w.settle()
	old := w.quota().Status
	w.edit(weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	w.replaceStatus(old)
	w.edit(eastOnly)
	w.restart()
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
}

// TestRolledBackLedgerOfAClusterThatIsAway puts the ledger back to before a cluster joined, which is selected still and
// cannot be read.
func TestRolledBackLedgerOfAClusterThatIsAway(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, eastOnly)
	w.settle()
	old := w.quota().Status
	w.edit(weighted)
	w.settle()
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.replaceStatus(old)
	w.restart()
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/9223372036854775807 Unread")
	w.members.byName["west"].err = nil
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestSelectionIsTakenBack selects a cluster for a while that is away, and that another budget knows.
func TestSelectionIsTakenBack(t *testing.T) {
	w := newWorld(t, "east", "west", "north")
	w.create("other", weighted+`
scopes: [BestEffort]`)
	if _, err := w.reconcile("other"); err != nil {
		t.Fatal(err)
	}
	if members.MarkerOf(w.cluster("west")) == 0 {
		t.Fatal("west is not marked")
	}
	w.create(quotaName, eastAlone)
	w.settle()
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 5/5 Settled", "west 0/0 Unread")
	w.edit(eastAlone)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestQuotaIsCreatedAgain has a FederatedQuota torn away from its members and created again over fewer of them.
func TestQuotaIsCreatedAgain(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	fq := w.quota()
	fq.Finalizers = nil
	w.must(servers[hubName].Update(t.Context(), fq))
	w.must(servers[hubName].Delete(t.Context(), fq))
	w.create(quotaName, eastOnly)
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
}

// TestLostLedgerIsDeleted lets the members of a ledger that was lost go as well.
func TestLostLedgerIsDeleted(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 4 {
		w.round()
		w.act()
	}
	if !w.gone() {
		t.Error("the FederatedQuota is still there")
	}
	for _, name := range []string{"east", "west"} {
		if w.share(name) != nil {
			t.Errorf("%s still has its share", name)
		}
	}
}

// TestNewQuotaWaitsForNobodyElse has a cluster that another budget knows, and that is away, and that the new one does
// not select.
func TestNewQuotaWaitsForNobodyElse(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create("other", weighted+`
scopes: [BestEffort]`)
	if _, err := w.reconcile("other"); err != nil {
		t.Fatal(err)
	}
	if members.MarkerOf(w.cluster("west")) == 0 {
		t.Fatal("west is not marked")
	}
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.create(quotaName, eastOnly)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestShareOfOtherScopesIsLeftAlone would give an unlimited namespace the limits of a few of its pods.
func TestShareOfOtherScopesIsLeftAlone(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	fq := w.quota()
	fq.Finalizers = nil
	w.must(servers[hubName].Update(t.Context(), fq))
	w.must(servers[hubName].Delete(t.Context(), fq))
	before := w.share("east")
	w.create(quotaName, `
hard: {pods: "1"}
placement: {clusterSelector: {}}
scopes: [Terminating]`)
	w.settle()
	w.wantLedger("east 18/9223372036854775807 NotReady", "west 12/9223372036854775807 NotReady")
	w.edit(`
hard: {pods: "1"}
placement: {clusters: [west]}
scopes: [Terminating]`)
	w.settle()
	if diff := cmp.Diff(before.Spec, w.share("east").Spec, quantities); diff != "" {
		t.Errorf("the share that was there (-want +got):\n%s", diff)
	}
}

// TestQuotaIsCreatedAgainWithOtherScopes finds shares that count something else, and says so.
func TestQuotaIsCreatedAgainWithOtherScopes(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["east"].uses(list("pods", "7"))
	w.settle()
	fq := w.quota()
	fq.Finalizers = nil
	w.must(servers[hubName].Update(t.Context(), fq))
	w.must(servers[hubName].Delete(t.Context(), fq))
	w.create(quotaName, weighted+`
scopes: [BestEffort]`)
	w.settle()
	w.wantLedger("east 30/9223372036854775807 NotReady")
	w.wantConditions("!Ready Degraded", "MemberNotReady Reported", "Reconciling Degraded")
	if got, want := w.message("MemberNotReady"), "east: its share has other scopes, which cannot be changed: delete QuotaShare "+w.namespace+"/compute there"; got != want {
		t.Errorf("got %q", got)
	}
	share := w.share("east")
	share.Finalizers = nil
	w.must(servers["east"].Update(t.Context(), share))
	w.must(servers["east"].Delete(t.Context(), share))
	w.agents["east"].hard, w.agents["east"].revision = nil, 0
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestQuotaThatWasThereBefore has a FederatedQuota that no hub manager has met: only one whose birth was attended
// cannot have had a ledger that told a cluster which is away, and which another budget may know.
func TestQuotaThatWasThereBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		initial bool
		want    []string
	}{
		"it was created":        {want: []string{"east 30/30 Settled"}},
		"it may be of a backup": {initial: true, want: []string{"east 0/0 Settled", "west 0/9223372036854775807 Unread"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			west := w.cluster("west")
			west.Annotations = map[string]string{quotav1alpha1.MemberAnnotation: "5"}
			w.must(servers[hubName].Update(t.Context(), west))
			w.members.byName["west"].err = clustercache.ErrClusterNotConnected
			w.create(quotaName, eastOnly)
			w.restart()
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer queue.ShutDown()
			w.hub.births.Create(t.Context(), event.CreateEvent{Object: w.quota(), IsInInitialList: tc.initial}, queue)
			if got := queue.Len(); got != 1 {
				t.Errorf("%d requests", got)
			}
			w.settle()
			w.wantLedger(tc.want...)
		})
	}
}
