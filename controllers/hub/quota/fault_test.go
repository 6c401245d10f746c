package quota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// frozen reads a FederatedQuota as it once was.
type frozen struct {
	client.Reader

	quota *quotav1alpha1.FederatedQuota
}

func (f frozen) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	f.quota.DeepCopyInto(object.(*quotav1alpha1.FederatedQuota))
	return nil
}

func TestStaleLeader(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.round()
	w.act()
	stale := w.newHub()
	stale.Live = frozen{quota: w.quota()}
	w.settle()
	w.edit(weighted2)
	w.round()
	w.written()
	versions := w.versions()

	if _, err := stale.Reconcile(t.Context(), w.request(quotaName)); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	w.wantWritten()
	if diff := cmp.Diff(versions, w.versions()); diff != "" {
		t.Errorf("written:\n%s", diff)
	}
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
}

// TestPausedLeader stops a leader between its decision, which it has stored, and the delivery. No compare-and-swap
// stops what it delivers later: the member's API server does.
func TestPausedLeader(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.round()
	w.act()
	other := w.newHub()
	other.Client, other.Live = servers[hubName], servers[hubName]
	other.Members = &connections{byName: map[string]*connection{"east": {client: servers["east"]}, "west": {client: servers["west"]}}}
	w.before = func(write string) error {
		if write != "east: patch QuotaShare compute" {
			return nil
		}
		w.before = nil
		w.edit(weighted2)
		_, err := other.Reconcile(t.Context(), w.request(quotaName))
		return err
	}
	if _, err := w.reconcile(quotaName); err == nil || !strings.Contains(err.Error(), "revision never goes down") {
		t.Errorf("got %v", err)
	}
	if hard := w.share("east").Spec.Hard["pods"]; hard.Value() != 10 {
		t.Errorf("east is told %s", hard.String())
	}
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
}

// writesOfALife is how many writes the quota of TestCrashAtEveryWrite takes if nothing crashes.
const writesOfALife = 15

// TestCrashAtEveryWrite ends the hub manager at each of its writes in turn, once before the write is made and once
// after, and starts it again without any memory. It ends in the same state, and at no time do members have more than
// the budget.
func TestCrashAtEveryWrite(t *testing.T) {
	for crash := range writesOfALife + 1 {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d applied=%t", crash, applied), func(t *testing.T) {
				w := newWorld(t, "east", "west")
				if writes := w.live(crash, applied); crash == writesOfALife && writes != crash {
					t.Errorf("%d writes without a crash, want %d", writes, crash)
				}
			})
		}
	}
}

// live lets a quota come, change and settle, with a crash at the given write, and returns how many writes there were.
func (w *world) live(crash int, applied bool) int {
	w.t.Helper()
	writes, crashed := 0, false
	at := func(string) error {
		writes++
		if writes == crash+1 {
			crashed = true
			return errors.New("crash")
		}
		return nil
	}
	if applied {
		w.after = at
	} else {
		w.before = at
	}
	w.create(quotaName, weighted)
	w.survive(&crashed)
	w.agents["west"].uses(list("pods", "3"))
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.edit(weighted2)
	w.survive(&crashed)
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
	w.wantConditions("Ready Enforced")
	return writes
}

// survive settles over a crash.
func (w *world) survive(crashed *bool) {
	w.t.Helper()
	for range 60 {
		w.written()
		if _, err := w.reconcile(quotaName); *crashed {
			*crashed = false
			w.restart()
			continue
		} else if err != nil {
			w.t.Fatal(err)
		}
		acted := w.act()
		if total := w.total("pods"); total > 30 {
			w.t.Fatalf("members have %d pods of 30", total)
		}
		if !acted && len(w.written()) == 0 {
			return
		}
		w.clock.SetTime(w.clock.Now().Add(2 * pace.SnapshotInterval(1, 1)))
	}
	w.t.Fatalf("no end: %v", w.ledger("pods"))
}

// replaceStatus puts another status in place, as a restored etcd does.
func (w *world) replaceStatus(status quotav1alpha1.FederatedQuotaStatus) {
	w.t.Helper()
	fq := w.quota()
	fq.Status = status
	w.must(servers[hubName].Status().Update(w.t.Context(), fq))
}

func TestRolledBackLedger(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	old := w.quota().Status
	w.edit(weighted2)
	w.settle()
	w.edit(`
hard: {pods: "30"}
placement: {clusterSelector: {}}
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, weight: 0}]}
rebalance: {mode: Static}`)
	w.settle()
	w.wantLedger("east 0/0 Settled", "west 30/30 Settled")
	highest := w.quota().Status.Revision

	w.replaceStatus(old)
	w.edit(weighted)
	w.restart()
	w.agents["west"].down = true
	w.written()
	w.round()
	w.wantConditions("!Ready Degraded", "Rebuilding Unread", "Reconciling Degraded")
	if got, want := w.message("Rebuilding"), "east, west"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 4 {
		w.round()
		w.act()
	}
	status := w.quota().Status
	if status.Revision <= highest {
		t.Errorf("goes on at revision %d, below %d", status.Revision, highest)
	}
	if hard := w.share("east").Spec.Hard["pods"]; !hard.IsZero() {
		t.Errorf("east is raised to %s before west has confirmed", hard.String())
	}
	w.agents["west"].down = false
	for range 10 {
		w.round()
		w.act()
		if total := w.total("pods"); total > 30 {
			t.Fatalf("members have %d pods of 30", total)
		}
	}
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.wantConditions("Ready Enforced")
}

func TestWipedStatus(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.agents["east"].uses(list("pods", "17"))
	w.create(quotaName, weighted)
	w.settle()
	highest := w.quota().Status.Revision
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	w.agents["west"].down = true
	for range 4 {
		w.round()
		w.act()
	}
	if raised := w.share("east").Spec.Hard["pods"]; raised.Value() > 18 {
		t.Errorf("east is raised to %s before west has confirmed", raised.String())
	}
	if revision := w.share("east").Spec.Revision; revision <= highest {
		t.Errorf("goes on at revision %d, below %d", revision, highest)
	}
	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestForgedRevision has somebody edit the revision of a share, which the agent follows: neither this ledger nor one
// that is founded anew goes on from it.
func TestForgedRevision(t *testing.T) {
	const forgery = 1<<53 - 1
	for name, wiped := range map[string]bool{"while there is a ledger": false, "without a ledger": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted)
			w.settle()
			share := w.share("east")
			share.Spec.Revision = forgery
			w.must(servers["east"].Update(t.Context(), share))
			if wiped {
				w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
				w.restart()
			}
			w.settle()
			want := fmt.Sprintf("east: the hub has not written revision %d: delete QuotaShare %s/compute there, then its ResourceQuota behind broken glass", forgery, w.namespace)
			if got := w.message("MemberNotReady"); got != want {
				t.Errorf("got %q", got)
			}
			w.loseShare("east")
			w.settle()
			if got := w.message("MemberNotReady"); got != want {
				t.Errorf("while the ResourceQuota is there: got %q", got)
			}
			if revision := w.quota().Status.Revision; revision > ledger.MostRevision {
				t.Errorf("goes on at revision %d", revision)
			}
			w.loseShare("east")
			w.agents["east"].hard, w.agents["east"].revision = nil, 0
			w.settle()
			w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
		})
	}
}

// TestWipedStatusOfAnUnreachableMember knows of west by the marker on its Cluster alone.
func TestWipedStatusOfAnUnreachableMember(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["east"].uses(list("pods", "18"))
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.edit(eastFirst)
	w.restart()
	w.settle()
	w.wantConditions("!Ready Degraded", "Rebuilding Unread", "Reconciling Degraded")
	if total := w.total("pods"); total > 30 {
		t.Errorf("members have %d pods of 30", total)
	}
	w.members.byName["west"].err = nil
	w.settle()
	w.wantLedger("east 30/30 Settled", "west 0/0 Settled")
}

// TestWipedStatusOfAMemberThatLeaves has a hub manager that met the FederatedQuota without a ledger, and stored one
// since: it knows of west, which is not selected any more, by the marker alone.
func TestWipedStatusOfAMemberThatLeaves(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.edit(eastAlone)
	w.settle()
	if total := w.total("pods"); total > 30 {
		t.Errorf("members have %d pods of 30", total)
	}
	w.wantConditions("!Ready Degraded", "Rebuilding Unread", "Reconciling Degraded")
	w.members.byName["west"].err = nil
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestDeletedShare has somebody delete a share by hand: the agent lets it go and keeps the limit, and the hub writes it
// anew.
func TestDeletedShare(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	share := w.share("east")
	share.Finalizers = nil
	w.must(servers["east"].Update(t.Context(), share))
	w.must(servers["east"].Delete(t.Context(), share))
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	if w.share("east") == nil {
		t.Error("the share was not written again")
	}
}
