package quota

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// TestAnotherClusterOfTheName deletes a Cluster and creates one of the same name for another cluster, while the old one
// goes on enforcing what it was granted.
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
	w.wantConditions("Ready Enforced")
	if w.share("north") == nil {
		t.Error("the new cluster has no share")
	}
}

// TestClusterIsReplacedWithinARound has another cluster get name and connection between what a round reads and what it
// writes.
func TestClusterIsReplacedWithinARound(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.loseShare("west")
	w.createNamespace("north", w.namespace)
	w.duringReads("west", func() {
		w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
		w.register("west")
		w.members.mutex.Lock()
		defer w.members.mutex.Unlock()
		w.members.byName["west"] = &connection{client: w.recorded("north")}
	})
	if _, err := w.reconcile(quotaName); err == nil || !strings.Contains(err.Error(), errReplaced.Error()) {
		t.Errorf("got error %v, want %v", err, errReplaced)
	}
	if w.share("north") != nil {
		t.Error("the new cluster has a share that was decided for the old one")
	}
}

// TestClusterIsRegisteredAgain deletes a Cluster and creates one of the same name for the same cluster, as a move to
// another hub does: its share tells.
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
	w.wantConditions("Ready Enforced")
	cluster := w.cluster("west")
	if got := w.share("west").Annotations[quotav1alpha1.ClusterAnnotation]; got != string(cluster.UID) {
		t.Errorf("the share is of Cluster %q, want %q", got, cluster.UID)
	}
	if members.MarkerOf(cluster) == 0 {
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

// TestTwoClustersOfOneServer has two Clusters lead to one API server, and so to one share: the one it was written for
// goes on, and so do others.
func TestTwoClustersOfOneServer(t *testing.T) {
	for name, later := range map[string]bool{"from the start": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			if later {
				w.create(quotaName, weighted)
				w.settle()
			}
			w.register("twin")
			w.members.byName["twin"] = &connection{client: interceptor.NewClient(servers["east"], interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "quotashares"}, object.GetName())
				},
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					t.Error("the share is written for the twin")
					return nil
				},
			})}
			state := "Unread"
			if !later {
				state = "Unreachable"
				w.create(quotaName, weighted)
			}
			w.settle()
			revision := w.share("east").Spec.Revision
			w.agents["east"].uses(list("pods", "4"))
			w.settle()
			w.wantLedger("east 15/15 Settled", "twin 0/0 "+state, "west 10/10 Settled")
			if got := w.share("east").Spec.Revision; got != revision {
				t.Errorf("the share goes on from revision %d to %d", revision, got)
			}
			want := fmt.Sprintf("twin: Clusters east and twin lead to the same API server: correct the kubeconfig Secret that is wrong, or delete Cluster twin, which has no share. If the share was copied there, delete QuotaShare %s/compute", w.namespace)
			if got := w.quota().Status.Clusters[1].Message; "twin: "+got != want {
				t.Errorf("got %q", got)
			}
			w.edit(strings.Replace(weighted, "clusterSelector: {}", "clusters: [east, west]", 1))
			w.settle()
			w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
			w.wantConditions("Ready Enforced")
		})
	}
}
