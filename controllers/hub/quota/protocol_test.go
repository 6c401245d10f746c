package quota

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// weighted gives 30 pods to three clusters by 3:2:1.
const weighted = `
hard: {pods: "30"}
placement: {clusterSelector: {}}
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, weight: 3}, {clusterSelector: {matchLabels: {name: west}}, weight: 2}]}
rebalance: {mode: Static}`

func (w *world) cluster(name string) *clusterv1.Cluster {
	w.t.Helper()
	cluster := &clusterv1.Cluster{}
	w.must(servers[hubName].Get(w.t.Context(), client.ObjectKey{Namespace: w.clusters, Name: name}, cluster))
	return cluster
}

func (w *world) wantLedger(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.ledger("pods")); diff != "" {
		w.t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// wantShare demands what the share of a member says: its revision, and pairs of name and quantity.
func (w *world) wantShare(member string, revision int64, hard ...string) {
	w.t.Helper()
	share := w.share(member)
	if diff := cmp.Diff(list(hard...), corev1.ResourceList(share.Spec.Hard), quantities); diff != "" || share.Spec.Revision != revision {
		w.t.Errorf("%s is told at revision %d (-want +got):\n%s", member, share.Spec.Revision, diff)
	}
}

func (w *world) wantConditions(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.conditions()); diff != "" {
		w.t.Errorf("conditions (-want +got):\n%s", diff)
	}
	w.readAsGitOpsDoes()
}

func (w *world) wantWritten(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.written()); diff != "" {
		w.t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestJoinProbesAtZeroAndRaises(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.agents["east"].uses(list("pods", "4"))

	w.round()
	w.wantWritten("hub: store FederatedQuota compute", "hub: patch FederatedQuota compute", "hub: store FederatedQuota compute",
		"hub: patch Cluster east", "east: create QuotaShare compute")
	w.wantLedger("east 0/0 Settling")
	w.wantConditions("!Ready Settling", "Reconciling Settling")
	w.wantShare("east", 2, "pods", "0")

	w.act()
	w.round()
	w.wantWritten("hub: store FederatedQuota compute", "east: patch QuotaShare compute")
	w.wantLedger("east 30/30 Settling")

	w.act()
	w.round()
	w.wantLedger("east 30/30 Settled")
	w.wantConditions("Ready Enforced")
	status := w.quota().Status
	if status.Settled != "1/1" || status.Tightest != "pods: 4/30" {
		t.Errorf("settled %q, tightest %q", status.Settled, status.Tightest)
	}
}

func TestDonorFirst(t *testing.T) {
	w := newWorld(t, "east", "west", "north")
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 15/15 Settled", "north 5/5 Settled", "west 10/10 Settled")

	w.edit(`
hard: {pods: "30"}
placement: {clusterSelector: {}}
distribution: {rules: [{clusters: [east], weight: 0}]}
rebalance: {mode: Static}`)
	w.written()
	w.round()
	w.wantLedger("east 0/15 Settling", "north 5/5 Settled", "west 10/10 Settled")
	w.wantWritten("hub: store FederatedQuota compute", "east: patch QuotaShare compute")

	for range 3 {
		w.round()
	}
	w.wantWritten()
	w.agents["east"].act()
	w.round()
	w.wantLedger("east 0/0 Settled", "north 15/15 Settling", "west 15/15 Settling")
	w.settle()
	w.wantLedger("east 0/0 Settled", "north 15/15 Settled", "west 15/15 Settled")
}

func TestUnreachable(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")

	w.members.byName["east"].err = clustercache.ErrClusterNotConnected
	w.edit(`
hard: {pods: "30"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`)
	w.settle()
	w.wantLedger("east 15/18 Unreachable", "west 12/12 Settled")
	w.wantConditions("!Ready Degraded", "Reconciling Degraded", "Unreachable NotConnected")
	if total := w.total("pods"); total != 30 {
		t.Errorf("%d pods are handed out while nobody can say what east does", total)
	}

	recorder := events.NewFakeRecorder(1000)
	w.hub.Recorder = recorder
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.round()
	close(recorder.Events)
	var written []string
	for event := range recorder.Events {
		written = append(written, event)
	}
	if !slices.ContainsFunc(written, func(event string) bool {
		return strings.Contains(event, "Unreachable: east: ") && strings.Contains(event, "west: ")
	}) {
		t.Errorf("no event says that west is unreachable, too: %q", written)
	}
	w.members.byName["west"].err = nil
	w.hub.Recorder = events.NewFakeRecorder(1000)

	w.members.byName["east"].err = nil
	w.settle()
	w.wantLedger("east 15/15 Settled", "west 15/15 Settled")
}

// TestUnreadableIsLogged logs the cause once, which the status says in words that stay.
func TestUnreadableIsLogged(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	logged, ctx := logs(t)
	rounds := func(failure string) {
		for i := range 3 {
			w.members.byName["east"].err = fmt.Errorf("dial tcp 10.0.0.7:4321%d: %s", i, failure)
			if failure == "" {
				w.members.byName["east"].err = clustercache.ErrClusterNotConnected
			}
			if _, err := w.hub.Reconcile(ctx, w.request(quotaName)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, failure := range []string{"timeout", "", "refused"} {
		rounds(failure)
		lines := logged("Reading a share failed")
		if len(lines) != i+1 || !strings.Contains(lines[i], failure) {
			t.Errorf("%q: logged %q", failure, lines)
		}
	}
}

func TestUnreadable(t *testing.T) {
	tests := map[string]struct {
		fault   func(w *world)
		message string
	}{
		"not connected": {
			fault:   func(w *world) { w.members.byName["east"].err = clustercache.ErrClusterNotConnected },
			message: "there is no connection; see the Cluster's kubeconfig Secret east-kubeconfig and the cluster's API server",
		},
		"without the API": {
			fault:   func(w *world) { w.members.byName["east"].client = w.recorded(hubName) },
			message: "the API QuotaShare is not installed there; install the agent's manifests",
		},
		"before the hub has installed the agent": {
			fault: func(w *world) {
				w.members.byName["east"].client = w.recorded(hubName)
				w.hub.Trouble = func(string) string { return "" }
			},
			message: "the API QuotaShare is not installed there yet: the hub manager installs it with the agent",
		},
		"failing": {
			fault:   func(w *world) { w.members.byName["east"].err = errors.New("dial tcp 10.0.0.7:43210: timeout") },
			message: "reading its share failed",
		},
		"probed in vain": {
			fault: func(w *world) {
				w.members.byName["east"].health = clustercache.HealthCheckingState{
					LastProbeSuccessTime: w.clock.Now().Add(-pace.UnreachableAfter - time.Second), ConsecutiveFailures: 3,
				}
			},
			message: "health probes fail",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east")
			w.create(quotaName, weighted)
			tc.fault(w)
			result := w.round()
			if result.RequeueAfter < pace.RetryInterval {
				t.Errorf("tried again after %s", result.RequeueAfter)
			}
			c := w.quota().Status.Clusters[0]
			if c.State != quotav1alpha1.ClusterUnread || c.Message != tc.message {
				t.Errorf("got %s: %s", c.State, c.Message)
			}
			w.wantConditions("!Ready Degraded", "Rebuilding Unread", "Reconciling Degraded")
			versions := w.versions()
			w.round()
			if diff := cmp.Diff(versions, w.versions()); diff != "" {
				t.Errorf("written again:\n%s", diff)
			}
		})
	}
}

func TestLedgerIsStoredBeforeShares(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	met := false
	w.before = func(write string) error {
		if met && write == "hub: store FederatedQuota compute" {
			return errors.New("no")
		}
		met = met || write == "hub: patch FederatedQuota compute"
		return nil
	}
	if _, err := w.reconcile(quotaName); err == nil {
		t.Error("no error")
	}
	w.wantWritten("hub: store FederatedQuota compute", "hub: patch FederatedQuota compute")

	w.before = nil
	w.settle()
	w.edit(weighted2)
	w.written()
	w.before = func(string) error { return errors.New("no") }
	if _, err := w.reconcile(quotaName); err == nil {
		t.Error("no error")
	}
	w.wantWritten()
}

func TestMarkerComesBeforeTheShare(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.before = func(write string) error {
		if write == "hub: patch Cluster east" {
			return errors.New("no")
		}
		return nil
	}
	w.round()
	if w.share("east") != nil {
		t.Error("a share was written to a Cluster without a marker")
	}
}
