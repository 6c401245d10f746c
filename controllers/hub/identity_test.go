package hub

import (
	"strings"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestAnotherClusterOfTheName deletes a Cluster and creates one of the same name for another cluster, while the old one goes on
// enforcing what it was granted.
func TestAnotherClusterOfTheName(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	old := w.agents["west"]
	w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
	w.settle()
	w.register("west")
	w.createNamespace("north", w.namespace)
	w.members.byName["west"] = &connection{client: w.recorded("north")}
	w.agents["west"] = &agent{world: w, name: "north"}
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Unreachable")
	w.wantConditions("!Ready Degraded", "Reconciling Degraded", "Unreachable NotConnected")
	if got := w.message("Unreachable"); !strings.Contains(got, "west: another Cluster has its name now") {
		t.Errorf("got %q", got)
	}
	if w.share("north") != nil {
		t.Error("the new cluster has a share, and the old one enforces its own")
	}
	w.edit(eastFirst)
	w.settle()
	if total := w.total("pods") + old.hard.Pods().Value(); total > 30 {
		t.Errorf("members have %d pods of 30", total)
	}

	w.edit(weighted + `
removal: {destroyed: [west]}`)
	w.settle()
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.wantConditions("Ready Settled")
	if w.share("north") == nil {
		t.Error("the new cluster has no share")
	}
}

// TestClusterIsRegisteredAgain deletes a Cluster and creates one of the same name for the same cluster, as a move to another
// hub does: its share tells.
func TestClusterIsRegisteredAgain(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable")
	w.register("west")
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.wantConditions("Ready Settled")
	cluster := w.cluster("west")
	if got := w.share("west").Annotations[quotav1alpha1.ClusterAnnotation]; got != string(cluster.UID) {
		t.Errorf("the share is of Cluster %q, want %q", got, cluster.UID)
	}
	if markerOf(cluster) == 0 {
		t.Error("the new Cluster is not marked")
	}
}

// TestClusterIsCreatedAgainBeforeItWasReached has nothing to keep of the first one.
func TestClusterIsCreatedAgainBeforeItWasReached(t *testing.T) {
	w := newWorld(t, "east", "west")
	connection := w.members.byName["west"]
	delete(w.members.byName, "west")
	w.create(quotaName, weighted)
	w.settle()
	w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
	w.register("west")
	w.members.byName["west"] = connection
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}
