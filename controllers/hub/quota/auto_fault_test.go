package quota

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestLimitsRestWhileAClusterIsUnread loses the ledger while a cluster is away: nobody can be raised, so nobody is
// lowered for the sake of another either. A cut of the budget counts all the same.
func TestLimitsRestWhileAClusterIsUnread(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, following)
	w.agents["east"].uses(list("pods", "2"))
	w.settle()
	w.wantLedger("east 8/8 Settled", "north 6/6 Settled", "west 6/6 Settled")
	w.members.byName["west"].err = clustercache.ErrClusterNotConnected
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	w.settle()
	w.wantLedger("east 8/8 Settled", "north 6/6 Settled", "west 0/9223372036854775807 Unread")
	w.agents["north"].asks(list("pods", "12"))
	w.settle()
	w.wantLedger("east 8/8 Settled", "north 6/6 Settled", "west 0/9223372036854775807 Unread")
	w.edit(`{hard: {pods: "10"}, placement: {clusterSelector: {}}, rebalance: {headroomPercent: 0}, admission: {mode: "Off"}}`)
	w.settle()
	w.wantLedger("east 5/5 Settled", "north 5/5 Settled", "west 0/9223372036854775807 Unread")
	w.edit(following)
	w.members.byName["west"].err = nil
	w.settle()
	w.wantLedger("east 4/4 Settled", "north 14/14 Settled", "west 2/2 Settled")
}

// TestNameThatAClusterDoesNotCount moves the limits of the other names as if it were not there.
func TestNameThatAClusterDoesNotCount(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.agents["west"].uncounted = "count/typos.example.com"
	w.create(quotaName, `
hard: {pods: "20", count/typos.example.com: "8"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 0}
admission: {mode: "Off"}`)
	w.settle()
	w.agents["east"].asks(list("pods", "16"))
	w.settle()
	for name, want := range map[string][]string{
		"pods":                    {"east 18/18 Settled", "west 2/2 Settled"},
		"count/typos.example.com": {"east 8/8 Settled", "west 0/0 Settled"},
	} {
		if diff := cmp.Diff(want, w.ledger(corev1.ResourceName(name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// fromTheHeaviest gives 20 pods to whoever asks; west has the most to give.
const fromTheHeaviest = following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, weight: 2}]}`

// TestDonorThatDoesNotAct has a donor whose agent is dead: after a moment another one is asked, and the first again as
// soon as its agent acts.
func TestDonorThatDoesNotAct(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, fromTheHeaviest)
	w.settle()
	w.wantLedger("east 5/5 Settled", "north 5/5 Settled", "west 10/10 Settled")
	w.agents["west"].down = true
	w.agents["east"].asks(list("pods", "8"))
	w.act()
	w.turns(4)
	w.wantLedger("east 7/7 Settled", "north 3/3 Settled", "west 6/10 Settling")
	if next := w.round().RequeueAfter; next != pace.DonorPatience {
		t.Errorf("looks again after %s, want %s", next, pace.DonorPatience)
	}
	w.clock.SetTime(w.clock.Now().Add(pace.DonorPatience - time.Millisecond))
	w.turns(3)
	w.wantLedger("east 7/7 Settled", "north 3/3 Settled", "west 6/10 Settling")
	w.clock.SetTime(w.clock.Now().Add(time.Millisecond))
	w.turns(3)
	w.wantLedger("east 8/8 Settled", "north 2/2 Settled", "west 6/10 Settling")

	// A hub manager that is started again does not ask it anew, though it has other words for why.
	w.clock.SetTime(w.clock.Now().Add(pace.AgentPatience + time.Second))
	w.turns(1)
	w.restart()
	stored := w.quota()
	for i := range stored.Status.Clusters {
		if c := &stored.Status.Clusters[i]; c.Reason == "AgentAbsent" {
			c.Message = "as another version says it"
		}
	}
	w.must(servers[hubName].Status().Update(t.Context(), stored))
	w.agents["north"].asks(list("pods", "4"))
	w.act()
	w.turns(3)
	w.wantLedger("east 6/6 Settled", "north 4/4 Settled", "west 6/10 NotReady")

	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 10/10 Settled", "north 6/6 Settled", "west 4/4 Settled")
}

// TestDonorThatTakesNoShare has a donor whose share cannot be written: others are asked, nobody's timers are lost over
// it, and it is tried again soon after.
func TestDonorThatTakesNoShare(t *testing.T) {
	for name, tc := range map[string]struct {
		write  string
		err    error
		within time.Duration
		want   string
	}{
		"its API server refuses": {
			write:  "west: patch QuotaShare compute",
			err:    apierrors.NewForbidden(schema.GroupResource{Resource: "quotashares"}, quotaName, errors.New("request 4711")),
			within: pace.RetryInterval * 12 / 10, want: "west: its API server refused the share: quotashares \"compute\" is forbidden: request 4711",
		},
		"a webhook there fails": {
			write:  "west: patch QuotaShare compute",
			err:    apierrors.NewInternalError(errors.New("failed calling webhook, request 4711")),
			within: pace.StallInterval, want: "west: writing the share failed: Internal error occurred: failed calling webhook, request 4711",
		},
		"the connection fails": {
			write: "west: patch QuotaShare compute", err: errors.New("dial tcp 10.0.0.7:43210: refused"),
			within: pace.StallInterval, want: "west: writing the share failed",
		},
		"the hub refuses the marker": {
			write:  "hub: patch Cluster west",
			err:    apierrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, "west", nil),
			within: pace.StallInterval, want: "west: marking its Cluster failed: clusters \"west\" is forbidden: <nil>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "north", "west")
			w.create(quotaName, fromTheHeaviest)
			w.settle()
			if tc.write == "hub: patch Cluster west" {
				w.unmark("west")
			}
			w.before = func(write string) error {
				if write == tc.write {
					return tc.err
				}
				return nil
			}
			w.agents["east"].asks(list("pods", "8"))
			w.act()
			logged, ctx := logs(t)
			var next time.Duration
			for range 4 {
				result, err := w.hub.Reconcile(ctx, w.request(quotaName))
				w.must(err)
				next = result.RequeueAfter
				w.act()
			}
			w.wantLedger("east 8/8 Settled", "north 2/2 Settled", "west 6/10 NotReady")
			if got := w.message("MemberNotReady"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if next == 0 || next > tc.within {
				t.Errorf("looks again after %s, want at most %s", next, tc.within)
			}
			if lines := logged("Delivering a share failed"); len(lines) != 1 {
				t.Errorf("logged %q", lines)
			}
			w.before = nil
			w.settle()
			w.wantLedger("east 11/11 Settled", "north 2/2 Settled", "west 6/6 Settled")
		})
	}
}

// TestDonorWhoseAgentCannotWrite has a donor whose agent has seen the share, and cannot enforce it: others are asked.
func TestDonorWhoseAgentCannotWrite(t *testing.T) {
	for _, reason := range []string{"WriteFailed", "NameTaken", "NamespaceTerminating"} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, "east", "north", "west")
			w.create(quotaName, fromTheHeaviest)
			w.settle()
			w.agents["east"].asks(list("pods", "8"))
			w.act()
			w.agents["west"].barred = reason
			w.turns(5)
			w.wantLedger("east 8/8 Settled", "north 2/2 Settled", "west 6/10 NotReady")
			if got, want := w.message("MemberNotReady"), "west: because of "+reason; got != want {
				t.Errorf("got %q", got)
			}
			if share := w.share("west"); share.Status.ObservedGeneration != share.Generation {
				t.Error("the agent has not seen the share")
			}
			w.agents["west"].barred = ""
			w.settle()
			w.wantLedger("east 11/11 Settled", "north 2/2 Settled", "west 6/6 Settled")
		})
	}
}

// TestDonorThatStalls has a donor whose API server does not answer a write in time: others are asked.
func TestDonorThatStalls(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, fromTheHeaviest)
	w.settle()
	w.members.byName["west"].client = w.stalled("west", "patch")
	w.hub.Timeout = stallTimeout
	w.agents["east"].asks(list("pods", "8"))
	w.act()
	if next := w.round().RequeueAfter; next == 0 || next > pace.StallInterval {
		t.Errorf("looks again after %s", next)
	}
	w.act()
	w.turns(3)
	w.wantLedger("east 8/8 Settled", "north 2/2 Settled", "west 6/10 NotReady")
	if got, want := w.message("MemberNotReady"), "west: its API server did not answer in time"; got != want {
		t.Errorf("got %q", got)
	}
	w.members.byName["west"].client = w.recorded("west")
	w.hub.Timeout = time.Minute
	w.clock.SetTime(w.clock.Now().Add(pace.StallInterval))
	w.settle()
	w.wantLedger("east 11/11 Settled", "north 3/3 Settled", "west 6/6 Settled")
}

// TestCutBelowUsage lets limits follow usage down although each pod that ends would be replaced, until the budget, and
// a max, hold what is used.
func TestCutBelowUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		spec               string
		cut, later, served []string
	}{
		"the budget": {
			spec:   `{hard: {pods: "12"}, placement: {clusterSelector: {}}, rebalance: {headroomPercent: 0}, admission: {mode: "Off"}}`,
			cut:    []string{"east 8/14 Draining", "west 4/4 Settled"},
			later:  []string{"east 8/11 Draining", "west 4/4 Settled"},
			served: []string{"east 8/8 Settled", "west 4/4 Settled"},
		},
		"a max": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, max: {pods: "9"}}]}`,
			cut:    []string{"east 9/14 Draining", "west 5/5 Settled"},
			later:  []string{"east 9/11 Draining", "west 9/9 Settled"},
			served: []string{"east 9/9 Settled", "west 9/9 Settled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, following)
			east := w.agents["east"]
			east.uses(list("pods", "14"))
			w.agents["west"].uses(list("pods", "4"))
			w.settle()
			w.edit(tc.spec)
			w.settle()
			w.wantLedger(tc.cut...)
			// Three pods end, and what replaces them does not fit.
			east.uses(list("pods", "11"))
			east.asks(list("pods", "3"))
			w.settle()
			w.wantLedger(tc.later...)
			east.uses(list("pods", "8"))
			east.asks(nil)
			w.settle()
			w.wantLedger(tc.served...)
		})
	}
}

// TestPokeInAStaticSplit wakes workloads that were refused as the spec says, though no request is held.
func TestPokeInAStaticSplit(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted2+`
admission: {mode: Hold, poke: Disabled}`)
	w.settle()
	want := quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionOff, Poke: quotav1alpha1.PokeDisabled}
	if diff := cmp.Diff(want, w.share("east").Spec.Admission); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.edit(weighted2)
	w.settle()
	if got := w.share("east").Spec.Admission.Poke; got != "" {
		t.Errorf("poke is still %q", got)
	}
}
