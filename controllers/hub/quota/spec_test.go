package quota

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

func TestNoClusters(t *testing.T) {
	w := newWorld(t)
	w.create(quotaName, weighted)
	w.round()
	w.wantConditions("!Ready NoClusters", "Reconciling NoClusters")
	w.readAsGitOpsDoes()
	w.createNamespace("east", w.namespace)
	w.join("east")
	w.settle()
	w.wantConditions("Ready Enforced")
}

func TestUnknownClusters(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, `
hard: {pods: "30"}
placement: {clusters: [east, esat]}
distribution: {rules: [{clusters: [wets], weight: 3}]}
rebalance: {mode: Static}`)
	w.settle()
	w.wantLedger("east 30/30 Settled")
	w.wantConditions("!Ready Degraded", "Reconciling Degraded", "UnknownCluster NotFound")
	want := "No such Cluster in the namespace of the Clusters: spec.placement.clusters: esat; spec.distribution.rules[0].clusters: wets"
	if got := w.message("UnknownCluster"); got != want {
		t.Errorf("got %q", got)
	}
}

// TestManyUnknownClusters has more unknown names than a message can hold.
func TestManyUnknownClusters(t *testing.T) {
	w := newWorld(t, "east")
	names := make([]string, 900)
	for i := range names {
		names[i] = "c" + strings.Repeat("x", 100) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
	}
	w.create(quotaName, `{hard: {pods: "30"}, rebalance: {mode: Static}, placement: {clusterSelector: {}, clusters: [`+strings.Join(names, ", ")+`]}}`)
	w.settle()
	w.wantConditions("!Ready Degraded", "Reconciling Degraded", "UnknownCluster NotFound")
	if message := w.message("UnknownCluster"); !strings.HasSuffix(message, " and 895 more") {
		t.Errorf("got %q", message)
	}
}

func TestConflict(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create("a-older", weighted)
	if _, err := w.reconcile("a-older"); err != nil {
		t.Fatal(err)
	}
	w.create(quotaName, weighted)
	w.settle()
	w.wantConditions("!Ready Conflict", "Stalled Conflict")
	want := "FederatedQuota " + w.namespace + "/a-older is older and covers the same scope in clusters east, west: merge spec.hard into it, or make placement or scopes of the two disjoint"
	if diff := cmp.Diff(want, w.message("Stalled")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if w.share("east") != nil {
		t.Error("a share was written in spite of the conflict")
	}
	if diff := cmp.Diff(w.hub.siblings(t.Context(), w.quotaNamed("a-older"))[0], w.request(quotaName)); diff != "" {
		t.Errorf("a change of the older quota wakes:\n%s", diff)
	}

	older := w.quotaNamed("a-older")
	older.Finalizers = nil
	w.must(servers[hubName].Update(t.Context(), older))
	w.must(servers[hubName].Delete(t.Context(), older))
	w.settle()
	w.wantConditions("Ready Enforced")
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestConflictLater has a quota that works run into an older one: what it handed out stays as it is.
func TestConflictLater(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create("a-older", `{hard: {pods: "5"}, placement: {clusters: [nowhere]}, rebalance: {mode: Static}}`)
	w.create(quotaName, weighted)
	w.settle()
	older := w.quotaNamed("a-older")
	older.Spec.Placement = quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"west"}}
	w.must(servers[hubName].Update(t.Context(), older))
	w.edit(`{hard: {secrets: "3"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	w.wantConditions("!Ready Conflict", "Stalled Conflict")
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.wantShare("west", 5, "pods", "12")
}

func TestBudgetCutBelowUsage(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["east"].uses(list("pods", "18"))
	w.agents["west"].uses(list("pods", "4"))
	w.settle()
	w.edit(weighted2)
	w.settle()
	w.wantLedger("east 10/18 Draining", "west 10/10 Settled")
	w.wantConditions("!Ready Degraded", "Debt GrantedAboveBudget", "Draining UsageAboveTarget", "Reconciling Degraded")
	if got, want := w.message("Debt"), "More is granted than the budget allows, so nobody is raised: 8 of pods, held by east (Draining) 8"; got != want {
		t.Errorf("got %q", got)
	}
	w.agents["east"].uses(list("pods", "13"))
	w.settle()
	w.wantLedger("east 10/13 Draining", "west 10/10 Settled")
	w.agents["east"].uses(list("pods", "2"))
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
	w.wantConditions("Ready Enforced")
}

func TestUsageFoundAtAdoption(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.agents["east"].uses(list("pods", "100"))
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 0/100 Draining", "west 0/0 Settled")
	w.wantConditions("!Ready Degraded", "Debt GrantedAboveBudget", "Draining UsageAboveTarget", "Reconciling Degraded")
	w.agents["east"].uses(nil)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

func TestResourceNamesComeAndGo(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(`{hard: {pods: "30", secrets: "10"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.round()
	for _, member := range []string{"east", "west"} {
		if got := w.share(member).Spec.Hard["secrets"]; !got.IsZero() {
			t.Errorf("%s is told %s secrets before it has said what it uses", member, got.String())
		}
	}
	w.settle()
	if diff := cmp.Diff([]string{"east 5/5 Settled", "west 5/5 Settled"}, w.ledger("secrets")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	w.agents["west"].down = true
	w.edit(`{hard: {secrets: "10"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	if granted := w.quota().Status.Clusters[1].Granted["pods"]; granted.Value() != 15 {
		t.Errorf("west may still enforce 15 pods, and %s are granted", granted.String())
	}
	w.agents["west"].down = false
	w.settle()
	w.wantConditions("Ready Enforced")
	for _, c := range w.quota().Status.Clusters {
		if _, ok := c.Granted["pods"]; ok {
			t.Errorf("pods of %s are still granted", c.Name)
		}
	}
	if diff := cmp.Diff(list("secrets", "5"), corev1.ResourceList(w.share("east").Spec.Hard), quantities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// renamed gives 100 CPUs under another name than before.
const renamed = `{hard: {requests.cpu: "100"}, placement: {clusterSelector: {}}}`

// TestNewNameReportedLate has a name come into the budget of which a cluster uses a part already, as it says later than
// another one could be given all of it.
func TestNewNameReportedLate(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(w *world)
		want      []string
	}{
		"it is waited for": {
			meanwhile: func(*world) {},
			want:      []string{"east 60/60", "west 0/0"},
		},
		"for a while": {
			meanwhile: func(w *world) { w.clock.SetTime(w.clock.Now().Add(pace.FirstReportWait)) },
			want:      []string{"east 99750m/99750m", "west 0/0"},
		},
		"also if it is away": {
			meanwhile: func(w *world) { w.members.byName["west"].err = clustercache.ErrClusterNotConnected },
			want:      []string{"east 60/60", "west 0/0"},
		},
		"no longer if it is away": {
			meanwhile: func(w *world) {
				w.members.byName["west"].err = clustercache.ErrClusterNotConnected
				w.clock.SetTime(w.clock.Now().Add(pace.FirstReportWait))
			},
			want: []string{"east 99750m/99750m", "west 0/0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			east, west := w.agents["east"], w.agents["west"]
			east.uses(list("cpu", "60", "requests.cpu", "60"))
			west.uses(list("cpu", "30", "requests.cpu", "30"))
			w.create(quotaName, `{hard: {cpu: "100"}, placement: {clusterSelector: {}}}`)
			w.settle()
			west.down = true
			east.asks(list("requests.cpu", "39"))
			w.edit(renamed)
			w.round()
			tc.meanwhile(w)
			var result ctrl.Result
			for range 4 {
				w.act()
				result = w.round()
			}
			var got []string
			for _, line := range w.ledger("requests.cpu") {
				got = append(got, line[:strings.LastIndex(line, " ")])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if name == "it is waited for" && result.RequeueAfter > pace.FirstReportWait {
				t.Errorf("looks again after %s", result.RequeueAfter)
			}
			w.members.byName["west"].err, west.down = nil, false
			east.asks(nil)
			w.settle()
			if granted := w.quota().Status.Clusters[1].Granted["requests.cpu"]; granted.Value() < 30 {
				t.Errorf("west uses 30, and is granted %s", granted.String())
			}
		})
	}
}

func TestReserveAndBounds(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `
hard: {pods: "30"}
reserve: {pods: "6"}
placement: {clusterSelector: {}}
distribution: {rules: [{min: {pods: "2"}}, {clusterSelector: {matchLabels: {name: east}}, max: {pods: "4"}}]}
rebalance: {mode: Static}`)
	w.settle()
	w.wantLedger("east 4/4 Settled", "west 20/20 Settled")
	if w.total("pods") != 24 {
		t.Errorf("%d of 24 pods are handed out", w.total("pods"))
	}
	var quota quotav1alpha1.FederatedQuota
	w.must(servers[hubName].Get(t.Context(), client.ObjectKeyFromObject(w.quota()), &quota))
	if diff := cmp.Diff(list("pods", "24"), corev1.ResourceList(quota.Status.Hard), quantities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUsageReportedLate has a cluster join that uses most of the budget already, and that says so later than another
// one asks for all of it: nobody is raised meanwhile, for some time.
func TestUsageReportedLate(t *testing.T) {
	w := newWorld(t, "east", "west")
	result := w.joinsInSilence()
	if result.RequeueAfter == 0 || result.RequeueAfter > pace.FirstReportWait {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 5/5 Settled", "west 25/25 Settled")
}

// joinsInSilence has west, which uses 25 of 30 pods, be told of its share and not say so yet, while east asks for all.
func (w *world) joinsInSilence() (result ctrl.Result) {
	w.t.Helper()
	west := w.agents["west"]
	west.uses(list("pods", "25"))
	west.down = true
	w.agents["east"].asks(list("pods", "30"))
	w.create(quotaName, `{hard: {pods: "30"}, placement: {clusterSelector: {}}}`)
	for range 4 {
		result = w.round()
		w.act()
	}
	w.wantLedger("east 0/0 Settled", "west 0/0 Settling")
	return result
}

// TestUsageReportedToAnotherHubManager has a hub manager without a connection wait for what a cluster uses that another
// one has given its share a moment ago, and go on if nobody hears of it.
func TestUsageReportedToAnotherHubManager(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.joinsInSilence()
	w.cutOff("west")
	w.restart()
	w.round()
	w.wantLedger("east 0/0 Settled", "west 0/0 Unreachable")
	w.clock.SetTime(w.clock.Now().Add(pace.FirstReportWait))
	w.settle()
	w.wantLedger("east 30/30 Settled", "west 0/0 Unreachable")
	w.restart()
	w.edit(`{hard: {pods: "40"}, placement: {clusterSelector: {}}}`)
	w.round()
	w.wantLedger("east 30/30 Settled", "west 0/0 Unreachable")
}

// TestSilenceAfterAReport has nobody wait for a cluster that cannot be read and has said what it uses before.
func TestSilenceAfterAReport(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `{hard: {pods: "30"}, placement: {clusterSelector: {}}}`)
	w.settle()
	w.cutOff("west")
	w.restart()
	w.agents["east"].asks(list("pods", "16"))
	w.act()
	w.round()
	w.round()
	if told := w.share("east").Spec.Hard["pods"]; told.Value() < 16 {
		t.Errorf("east is told %s, though it asks for 16", told.String())
	}
}

// TestNameThatIsNeverReported has a cluster count nothing under a name of a split that stays: others get their parts,
// and it none.
func TestNameThatIsNeverReported(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.agents["west"].uncounted = "secrets"
	w.create(quotaName, `{hard: {pods: "30", secrets: "10"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	w.clock.SetTime(w.clock.Now().Add(pace.FirstReportWait))
	w.settle()
	for member, want := range map[string]int64{"east": 5, "west": 0} {
		if told := w.share(member).Spec.Hard["secrets"]; told.Value() != want {
			t.Errorf("%s is told %s secrets, want %d", member, told.String(), want)
		}
	}
}

// TestLostLedgerOfANameThatIsNotCounted has a cluster that counts nothing under a name say of it, to a ledger that
// knows nothing, all that there is to say: others are raised, and it may leave.
func TestLostLedgerOfANameThatIsNotCounted(t *testing.T) {
	const budget = `hard: {pods: "30", secrets: "10"}, rebalance: {mode: Static}`
	w := newWorld(t, "east", "west")
	w.agents["west"].uncounted = "secrets"
	w.create(quotaName, `{`+budget+`, placement: {clusterSelector: {}}}`)
	w.settle()
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	w.settle()
	w.edit(`{` + budget + `, placement: {clusterSelector: {}}, distribution: {rules: [{clusters: [east], max: {secrets: "6"}, min: {secrets: "6"}}]}}`)
	w.settle()
	if diff := cmp.Diff([]string{"east 6/6 Settled", "west 0/0 Settled"}, w.ledger("secrets")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.edit(`{` + budget + `, placement: {clusters: [east]}}`)
	w.settle()
	if diff := cmp.Diff([]string{"east 10/10 Settled"}, w.ledger("secrets")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
