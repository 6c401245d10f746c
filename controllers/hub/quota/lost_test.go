package quota

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// loseShare has somebody delete a share of a member by hand, finalizer and all.
func (w *world) loseShare(member string) {
	w.t.Helper()
	share := w.share(member)
	share.Finalizers = nil
	w.must(servers[member].Update(w.t.Context(), share))
	w.must(client.IgnoreNotFound(servers[member].Delete(w.t.Context(), share))) // one that is being deleted goes with its finalizer
}

// TestLostShareOfAClusterThatLeaves shows that no share is not the same as no limit.
func TestLostShareOfAClusterThatLeaves(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	w.edit(eastOnly)
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
	w.loseShare("west")
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
	w.agents["west"].uses(nil)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestLostShareOfARemoval has somebody delete a share a moment before the FederatedQuota is deleted, and while it is:
// the limit of the member is as managed as before, so the member is told what shall become of it.
func TestLostShareOfARemoval(t *testing.T) {
	for name, before := range map[string]int{"before": 0, "meanwhile": 1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted+"\nremoval: {policy: Delete}")
			w.settle()
			w.must(servers[hubName].Delete(t.Context(), w.quota()))
			w.agents["west"].down = true
			for range before {
				w.round()
				w.act()
			}
			w.untell("west")
			w.loseShare("west")
			w.agents["west"].down = false
			for range 6 {
				w.round()
				w.act()
			}
			if !w.gone() {
				t.Errorf("the FederatedQuota is still there: %v", w.ledger("pods"))
			}
			if got := w.agents["west"].removal; got != "Delete" {
				t.Errorf("west was told to %q", got)
			}
		})
	}
}

// untell takes back what a share was told of a removal.
func (w *world) untell(member string) {
	w.t.Helper()
	share := w.share(member)
	delete(share.Annotations, quotav1alpha1.RemovalAnnotation)
	w.must(servers[member].Update(w.t.Context(), share))
}

// TestLostNamespaceOfARemoval creates no namespace for the sake of a removal.
func TestLostNamespaceOfARemoval(t *testing.T) {
	w := newWorld(t)
	w.join("west")
	w.create(quotaName, `
hard: {pods: "30"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`)
	w.settle()
	w.edit(`
hard: {pods: "30"}
placement: {clusterSelector: {}, createNamespace: true}
rebalance: {mode: Static}`)
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 4 {
		w.round()
	}
	if !w.gone() {
		t.Errorf("the FederatedQuota is still there: %v", w.ledger("pods"))
	}
	err := servers["west"].Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("reading the namespace in west: got %v, want NotFound", err)
	}
}

// TestLostLedgerAndShare leaves nothing but the marker on the Cluster to tell of the revisions that were given.
func TestLostLedgerAndShare(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	highest := w.quota().Status.Revision
	w.loseShare("east")
	w.agents["east"].hard = nil
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	w.round()
	w.round()
	if revision := w.share("east").Spec.Revision; revision <= highest {
		t.Errorf("goes on at revision %d, after %d", revision, highest)
	}
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestLostLedgerOfAQuotaThatIsCreatedAgain has nothing but the marker left to tell of the revisions that a ledger gave
// which itself came after one that was lost: the clock of the hub shows a time that no ledger counts by.
func TestLostLedgerOfAQuotaThatIsCreatedAgain(t *testing.T) {
	w := newWorld(t, "east")
	w.clock.SetTime(time.Unix(-1<<20, 0))
	w.restart()
	w.create(quotaName, weighted)
	decide := func() {
		for _, spec := range []string{weighted2, weighted, weighted2, weighted, weighted2, weighted} {
			w.edit(spec)
			w.settle()
		}
	}
	decide()
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	decide()
	highest := w.quota().Status.Revision
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 3 {
		w.round()
		w.act()
	}
	w.create(quotaName, weighted)
	w.round()
	w.round()
	if revision := w.quota().Status.Revision; revision <= highest {
		t.Errorf("goes on at revision %d, after %d", revision, highest)
	}
}

// TestLostLimit has a member come back with a lower limit at the revision of its entry, which the agent cannot raise.
func TestLostLimit(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["east"].hard = list("pods", "5")
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	if enforced := w.agents["east"].hard["pods"]; enforced.Value() != 18 {
		t.Errorf("east enforces %s", enforced.String())
	}
}

// TestCappedLimit has a member confirm each revision with a lower limit: it is asked anew now and then.
func TestCappedLimit(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["east"].capped = list("pods", "5")
	w.agents["east"].hard = list("pods", "5")
	revision := w.quota().Status.Revision
	for range 2 {
		var result ctrl.Result
		for range 5 {
			w.act()
			result = w.round()
		}
		revision++
		if got := w.quota().Status.Revision; got != revision {
			t.Errorf("at revision %d, want %d", got, revision)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter > pace.ConfirmInterval {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
		w.clock.SetTime(w.clock.Now().Add(pace.ConfirmInterval))
	}
	w.agents["east"].capped = nil
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// unserved is an API server that does not know of shares any more.
type unserved struct{ client.Reader }

func (unserved) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
}

// TestLostAPI has somebody delete the CRD of shares in a member: that says nothing of the limit there.
func TestLostAPI(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["east"].cache = unserved{}
	w.edit(weighted2)
	w.settle()
	w.wantLedger("east 10/18 Unreachable", "west 10/10 Settled")
	w.members.byName["east"].cache = nil
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
}
