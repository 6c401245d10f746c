package quota

import (
	"strings"
	"testing"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// besideAnother returns a world in which another budget has marked all clusters.
func besideAnother(t *testing.T, members ...string) *world {
	t.Helper()
	w := newWorld(t, members...)
	w.markAll()
	return w
}

// markAll has another budget mark all clusters.
func (w *world) markAll() {
	w.t.Helper()
	w.create("other", weighted+`
scopes: [BestEffort]`)
	_, err := w.reconcile("other")
	w.must(err)
	for name := range w.agents {
		if members.MarkerOf(w.cluster(name)) == 0 {
			w.t.Fatalf("%s is not marked", name)
		}
	}
}

// reconnect ends what cutOff did.
func (w *world) reconnect(member string) {
	w.members.byName[member].err, w.agents[member].down = nil, false
}

// neverWrites demands that nothing is written into a member from now on.
func (w *world) neverWrites(member string) {
	w.before = func(write string) error {
		if strings.HasPrefix(write, member+": ") {
			w.t.Error(write)
		}
		return nil
	}
}

// suspicion is a world that has lost the ledger of a budget for east, while west is away, which only another budget
// knows.
func suspicion(t *testing.T) *world {
	t.Helper()
	w := besideAnother(t, "east", "west")
	w.create(quotaName, eastAlone)
	w.settle()
	w.cutOff("west")
	w.neverWrites("west")
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.settle()
	return w
}

// TestSuspectedClusterHasNoShare loses the ledger while a cluster is away that only another budget knows: it may hold a
// share of this one for all that the hub knows, and when it turns out to have none it gets none.
func TestSuspectedClusterHasNoShare(t *testing.T) {
	w := suspicion(t)
	w.wantLedger("east 30/30 Settled", "west 0/9223372036854775807 Unread")
	if reason := w.quota().Status.Clusters[1].Reason; reason != quotav1alpha1.ReasonMayHoldShare {
		t.Errorf("west is in the ledger for the reason %q", reason)
	}
	w.reconnect("west")
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestNeverToldAndDeselected has a cluster that only another budget knows be selected by mistake while it is away.
func TestNeverToldAndDeselected(t *testing.T) {
	mistaken := func(t *testing.T) *world {
		w := besideAnother(t, "east", "west")
		w.cutOff("west")
		w.neverWrites("west")
		w.create(quotaName, mostOf("west", "west", "30"))
		w.restart() // the next hub manager finds it there
		w.settle()
		w.wantLedger("west 0/9223372036854775807 Unread")
		return w
	}
	t.Run("the name is corrected", func(t *testing.T) {
		w := mistaken(t)
		w.edit(eastAlone)
		w.settle()
		w.reconnect("west")
		w.settle()
		w.wantLedger("east 30/30 Settled")
	})
	t.Run("the FederatedQuota is deleted", func(t *testing.T) {
		w := mistaken(t)
		w.must(servers[hubName].Delete(t.Context(), w.quota()))
		w.settle()
		w.reconnect("west")
		w.round()
		if !w.gone() {
			t.Error("the FederatedQuota is still there")
		}
	})
}

// TestSuspectedClusterOfAnInvalidSpec has the spec become invalid before a suspected cluster can be asked: nobody looks
// again and again.
func TestSuspectedClusterOfAnInvalidSpec(t *testing.T) {
	w := suspicion(t)
	w.edit(`{hard: {count/typo: "1"}, placement: {clusters: [east]}}`)
	w.round()
	w.reconnect("west")
	w.round()
	if result := w.round(); result.RequeueAfter < time.Second {
		t.Errorf("tried again after %s", result.RequeueAfter)
	}
	w.edit(eastAlone)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestCountsOnOnceItCanBeActedUpon removes a FederatedQuota and creates it again with a spec that cannot be acted upon
// at first: its shares are newer than those before, of which members remember the revision.
func TestCountsOnOnceItCanBeActedUpon(t *testing.T) {
	for name, first := range map[string]string{
		"invalid":          `{hard: {count/typo: "1"}, placement: {clusters: [east]}}`,
		"selects nobody":   mostOf("nowhere", "east", "30"),
		"as it was before": eastAlone,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east")
			w.create(quotaName, eastAlone)
			for range 5 {
				w.edit(mostOf("east", "east", "10"))
				w.settle()
				w.edit(eastAlone)
				w.settle()
			}
			before := w.share("east").Spec.Revision
			w.must(servers[hubName].Delete(t.Context(), w.quota()))
			for range 4 {
				w.round()
				w.act()
			}
			if !w.gone() {
				t.Fatal("the FederatedQuota is still there")
			}
			w.create(quotaName, first)
			w.settle()
			w.edit(eastAlone)
			w.settle()
			w.wantLedger("east 30/30 Settled")
			if after := w.share("east").Spec.Revision; after <= before {
				t.Errorf("revision %d comes after %d", after, before)
			}
		})
	}
}

// TestLedgerThatNobodyIsLeftIn knows whom it has told: all have left.
func TestLedgerThatNobodyIsLeftIn(t *testing.T) {
	w := besideAnother(t, "east", "west")
	w.create(quotaName, eastAlone)
	w.settle()
	w.edit(mostOf("nowhere", "east", "30"))
	w.settle()
	w.wantLedger()
	w.cutOff("west")
	w.edit(eastAlone)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestUnreadLedgerOfAHubThatStartsAgain has the hub manager start again before any cluster of a new budget was read,
// and east be away, which only another budget knows.
func TestUnreadLedgerOfAHubThatStartsAgain(t *testing.T) {
	t.Run("its cluster was marked before", func(t *testing.T) {
		w := besideAnother(t, "east", "north")
		w.cutOff("north")
		w.create(quotaName, mostOf("north", "north", "30"))
		w.round()
		w.restart()
		w.cutOff("east")
		w.neverWrites("east")
		w.round()
		w.reconnect("east") // is waited for: a ledger that was lost looks the same
		w.reconnect("north")
		w.settle()
		w.wantLedger("north 30/30 Settled")
	})
	t.Run("nobody was marked before", func(t *testing.T) {
		w := newWorld(t, "east", "north")
		w.cutOff("north")
		w.create(quotaName, mostOf("north", "north", "30"))
		w.round()
		w.reconnect("north")
		w.markAll()
		w.restart()
		w.cutOff("east")
		w.settle()
		w.wantLedger("north 30/30 Settled")
	})
}
