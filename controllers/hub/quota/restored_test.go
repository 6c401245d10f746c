package quota

import (
	"context"
	"fmt"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// mostOf is a budget of 30 pods of which one cluster gets some, and the other what is left.
func mostOf(clusters, one, most string) string {
	return fmt.Sprintf(`
hard: {pods: "30"}
placement: {clusters: [%s]}
distribution: {rules: [{clusters: [%s], max: {pods: %q}}]}
rebalance: {mode: Static}`, clusters, one, most)
}

// restored is a world whose hub was restored to a time when nobody had heard of west, which holds 20, and to which the
// hub manager has just begun to listen. East, which was not told of west either, is to get all.
func restored(t *testing.T) *world {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east", "east", "10"))
	w.settle()
	old := w.quota().Status
	w.edit(mostOf("east, west", "east", "10"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")

	w.agents["west"].uses(list("pods", "15"))
	w.edit(mostOf("east", "east", "30"))
	w.replaceStatus(old)
	w.unmark("west")
	w.begins()
	return w
}

// begins starts the hub manager again, which has just begun to listen; it connects to these clusters if it is not
// connected yet.
func (w *world) begins(machines ...string) {
	w.t.Helper()
	for _, name := range machines {
		cluster := w.cluster(name)
		cluster.Status.Initialization.InfrastructureProvisioned = new(true)
		w.must(servers[hubName].Status().Update(w.t.Context(), cluster))
	}
	w.restart()
	w.hub.Stores.Begin()
}

// duringReads has something happen while a round reads a member.
func (w *world) duringReads(member string, happen func()) {
	read := w.members.byName[member].client
	w.members.byName[member].cache = interceptor.NewClient(servers[member], interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			happen()
			return read.Get(ctx, key, object, options...)
		},
	})
}

// TestRestoredFromBeforeAClusterWasSelected has only a look at the store of west tell what it holds.
func TestRestoredFromBeforeAClusterWasSelected(t *testing.T) {
	w := restored(t)
	w.hub.Stores.BeginAt(time.Time{}) // rounds may be made before anybody looks
	for range 4 {
		if again := w.round().RequeueAfter; again == 0 || again > pace.FirstLookInterval {
			t.Errorf("looks again after %s", again)
		}
		w.act()
	}
	w.wantLedger("east 10/10 Settled")
	w.hub.Stores.Begin()
	w.hub.Stores.Look(t.Context(), everyone)
	if len(w.hub.Stores.Wake) == 0 {
		t.Error("nobody was woken")
	}
	w.settle()
	w.wantLedger("east 15/15 Settled", "west 0/15 Leaving")
	w.agents["west"].uses(nil)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestLookWithinARound has the first look fall into a round, which knows nothing of what it found.
func TestLookWithinARound(t *testing.T) {
	w := restored(t)
	w.duringReads("east", func() { w.hub.Stores.Look(t.Context(), everyone) })
	for range 4 {
		w.round()
		w.act()
	}
	w.settle()
	w.wantLedger("east 15/15 Settled", "west 0/15 Leaving")
}

// TestLookThatFails has the first looks at a store be in vain: they say nothing of what it holds.
func TestLookThatFails(t *testing.T) {
	w := restored(t)
	healthy := w.members.byName["west"].client
	w.members.byName["west"].client = interceptor.NewClient(servers["west"], interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return context.DeadlineExceeded
		},
	})
	for range 4 {
		w.hub.Stores.Look(t.Context(), everyone)
		w.round()
		w.act()
	}
	w.wantLedger("east 10/10 Settled")
	w.members.byName["west"].client = healthy
	w.hub.Stores.Look(t.Context(), everyone)
	w.settle()
	w.wantLedger("east 15/15 Settled", "west 0/15 Leaving")
}

// TestNobodyIsRaisedBeforeMembersAreTried starts the hub manager while west is not connected yet: what it holds may be
// more than a restored ledger knows, and it is about to tell.
func TestNobodyIsRaisedBeforeMembersAreTried(t *testing.T) {
	for name, tc := range map[string]struct {
		machines []string
		health   clustercache.HealthCheckingState
		later    time.Duration
		want     string
	}{
		"not tried yet":       {machines: []string{"west"}, want: "east 10/10 Settled"},
		"without any machine": {want: "east 20/20 Settled"},
		"tried in vain":       {machines: []string{"west"}, health: clustercache.HealthCheckingState{LastProbeTime: epoch}, want: "east 20/20 Settled"},
		"not tried for long":  {machines: []string{"west"}, later: pace.Connecting, want: "east 20/20 Settled"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, mostOf("east, west", "east, west", "10"))
			w.settle()
			w.edit(mostOf("east, west", "west", "10"))
			w.begins(tc.machines...)
			w.hub.Stores.Look(t.Context(), func(member string) bool { return member == "east" })
			w.members.byName["west"].err, w.members.byName["west"].health = clustercache.ErrClusterNotConnected, tc.health
			w.clock.SetTime(w.clock.Now().Add(tc.later))
			for range 4 {
				w.round()
				w.act()
			}
			w.wantLedger(tc.want, "west 10/10 Unreachable")
			w.members.byName["west"].err = nil
			w.settle()
			w.wantLedger("east 20/20 Settled", "west 10/10 Settled")
		})
	}
}

// TestNotReadyBeforeClustersAreHeard has a spec be changed, and its FederatedQuota be deleted, while nothing is
// decided.
func TestNotReadyBeforeClustersAreHeard(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east", "east", "10"))
	w.settle()
	w.begins("west")
	west := w.members.byName["west"]
	west.err = clustercache.ErrClusterNotConnected
	w.hub.Stores.Look(t.Context(), func(member string) bool { return member == "east" })

	w.edit(mostOf("east", "east", "20"))
	w.round()
	w.act()
	w.wantLedger("east 10/10 Settled")
	w.wantConditions("!Ready Settling", "Reconciling Settling")
	const waiting = "Waiting for clusters: west (not heard yet)"
	if got := apimeta.FindStatusCondition(w.quota().Status.Conditions, quotav1alpha1.ConditionReady).Message; got != waiting {
		t.Errorf("Ready says %q, want %q", got, waiting)
	}
	west.err = nil
	w.hub.Stores.Look(t.Context(), everyone)
	w.settle()
	w.wantLedger("east 20/20 Settled")
	w.wantConditions("Ready Enforced")
}

// TestConnectionWithinARound has west be connected while a round reads east, to which west is one that cannot be read.
func TestConnectionWithinARound(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east, west", "10"))
	w.settle()
	old := w.quota().Status
	w.edit(mostOf("east, west", "east", "10"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")
	w.agents["west"].uses(list("pods", "20"))
	w.edit(mostOf("east, west", "west", "10"))
	w.replaceStatus(old)
	w.begins("west")
	west := w.members.byName["west"]
	west.err = clustercache.ErrClusterNotConnected
	w.duringReads("east", func() {
		w.members.mutex.Lock()
		defer w.members.mutex.Unlock()
		west.err = nil
	})
	_, err := w.hub.Reconcile(t.Context(), w.request(quotaName)) // what west holds is beyond what was granted still
	w.must(err)
	if told := w.share("east").Spec.Hard["pods"]; told.Value() > 10 {
		t.Errorf("east was raised to %s before west was heard", told.String())
	}
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/20 Draining")
}

// gaveUp has the hub manager have waited for first connections in vain, and looked at all stores that it could.
func (w *world) gaveUp() {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Add(pace.Connecting))
	w.hub.Stores.Look(w.t.Context(), everyone)
}

// cutOff ends the connection to a member, whose agent no longer acts.
func (w *world) cutOff(member string) {
	w.members.byName[member].err, w.agents[member].down = clustercache.ErrClusterNotConnected, true
}

// judged makes rounds over a ledger that may not cover what members hold, and demands that together they hold no more
// than 30 pods.
func (w *world) judged(rounds int, every time.Duration) {
	w.t.Helper()
	for range rounds {
		_, err := w.hub.Reconcile(w.t.Context(), w.request(quotaName))
		w.must(err)
		w.act()
		w.clock.SetTime(w.clock.Now().Add(every))
		if total := w.total("pods"); total > 30 {
			w.t.Fatalf("members have %d pods of 30, by the ledger %v", total, w.ledger("pods"))
		}
	}
}

// TestRestoredFromBeforeAClusterLeft restores a ledger in which west has 20 that it gave away when it left. It is
// connected before east, which got them.
func TestRestoredFromBeforeAClusterLeft(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east", "10"))
	w.settle()
	old := w.quota().Status
	w.edit(mostOf("east", "east", "30") + "\nremoval: {policy: Delete}")
	w.settle()
	w.wantLedger("east 30/30 Settled")
	w.edit(mostOf("east, west", "east", "10"))
	w.replaceStatus(old)
	w.begins("east", "west")
	w.members.byName["east"].err = clustercache.ErrClusterNotConnected
	w.judged(2, pace.FirstLookInterval)
	w.members.byName["east"].err = nil
	w.judged(6, pace.FirstLookInterval)
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")
}

// TestRestoredFromBeforeAClusterDrained restores a ledger in which west holds 20, of which it has given 15 to east
// since, and the spec gives west 20 again. A decision at that moment would be newer than what west shows.
func TestRestoredFromBeforeAClusterDrained(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east, west", "east", "10"))
	w.settle()
	w.agents["west"].uses(list("pods", "20"))
	w.act()
	w.edit(mostOf("east, west", "west", "5"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 5/20 Draining")
	old := w.quota().Status
	w.agents["west"].uses(nil)
	w.settle()
	w.wantLedger("east 25/25 Settled", "west 5/5 Settled")
	w.edit(mostOf("east, west", "east", "10"))
	w.replaceStatus(old)
	w.begins("east", "west")
	w.members.byName["east"].err, w.members.byName["west"].err = clustercache.ErrClusterNotConnected, clustercache.ErrClusterNotConnected
	w.judged(1, pace.FirstLookInterval)
	w.members.byName["west"].err = nil
	w.judged(2, pace.FirstLookInterval)
	w.members.byName["east"].err = nil
	w.judged(6, pace.FirstLookInterval)
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 20/20 Settled")
}

// TestRestoredAndRemoved deletes a FederatedQuota of a restored hub before there was a look at west, which has a share
// still.
func TestRestoredAndRemoved(t *testing.T) {
	w := restored(t)
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 3 {
		w.round()
		w.act()
	}
	if w.gone() {
		t.Fatal("the FederatedQuota is gone, and west was told nothing")
	}
	w.hub.Stores.Look(t.Context(), everyone)
	for range 6 {
		w.round()
		w.act()
	}
	if !w.gone() || w.share("west") != nil {
		t.Errorf("gone: %t, share of west: %v", w.gone(), w.share("west"))
	}
}
