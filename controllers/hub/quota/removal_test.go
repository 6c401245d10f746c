package quota

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// eastOnly selects one of the clusters.
const eastOnly = `
hard: {pods: "30"}
placement: {clusterSelector: {matchLabels: {name: east}}}
rebalance: {mode: Static}`

func TestClusterLeaves(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	w.settle()

	w.edit(eastOnly)
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
	w.wantConditions("Ready Enforced")
	w.agents["west"].uses(nil)
	w.settle()
	w.wantLedger("east 30/30 Settled")
	w.wantConditions("Ready Enforced")
	if w.share("west") != nil {
		t.Error("the share of west is still there")
	}
	if got := w.agents["west"].removal; got != "Retain" {
		t.Errorf("west was told to %s", got)
	}
	if w.hub.memories.know("west") {
		t.Error("it is still remembered, and would not be waited for when it comes back")
	}
}

func TestClusterComesBackWhileItLeaves(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	w.edit(eastOnly)
	w.settle()
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")

	w.agents["west"].uses(nil)
	w.edit(eastOnly)
	w.round()
	w.act()
	w.agents["west"].down = true
	w.round()
	w.round()
	w.edit(weighted)
	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// deleted is a world in which the hub manager has deleted the share of west, whose agent does not act.
func deleted(t *testing.T) *world {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastOnly)
	w.round()
	w.act()
	w.agents["west"].down = true
	for range 4 {
		w.round()
	}
	if w.share("west").DeletionTimestamp.IsZero() {
		t.Fatal("the share of west is not deleted")
	}
	return w
}

// TestShareThatOthersKeep has a finalizer of somebody else keep a share when its agent is done with it: that is said, and
// the cluster leaves once it is off.
func TestShareThatOthersKeep(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	patch := func(patch string) {
		w.must(servers["west"].Patch(t.Context(), w.share("west"), client.RawPatch(types.JSONPatchType, []byte(patch))))
	}
	patch(`[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/hold"}]`)
	w.edit(eastOnly)
	w.settle()
	w.wantLedger("east 30/30 Settled", "west 0/0 Leaving")
	want := "its share is deleted there, and kept by finalizers of others: example.com/hold"
	if got := w.quota().Status.Clusters[1].Message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	patch(`[{"op": "remove", "path": "/metadata/finalizers"}]`)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestClusterLeavesWhileTheSpecIsInvalid lets a share go that was deleted before, and the entry stay until the spec can
// be acted on.
func TestClusterLeavesWhileTheSpecIsInvalid(t *testing.T) {
	w := deleted(t)
	w.agents["west"].down = false
	w.edit(`{hard: {count/typo: "1"}, placement: {clusterSelector: {matchLabels: {name: east}}}, rebalance: {mode: Static}}`)
	w.settle()
	w.wantLedger("east 30/30 Settled", "west 0/0 Leaving")
	if w.share("west") != nil {
		t.Error("the share of west is still there")
	}
	w.edit(eastOnly)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

func TestClusterIsDestroyed(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
	delete(w.agents, "west")
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable")
	if got := w.message("Unreachable"); !strings.Contains(got, "spec.removal.destroyed") {
		t.Errorf("got %q", got)
	}
	w.edit(eastOnly + `
removal: {destroyed: [west]}`)
	w.settle()
	w.wantLedger("east 30/30 Settled")
	w.wantConditions("Ready Enforced")
}

// TestClusterIsStatedDestroyed has the Cluster itself say so, for all budgets, while they still select it.
func TestClusterIsStatedDestroyed(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	state := func(reason string) {
		cluster := w.cluster("west")
		cluster.Annotations[quotav1alpha1.DestroyedAnnotation] = reason
		w.must(servers[hubName].Update(t.Context(), cluster))
		w.settle()
	}
	state("its region is gone")
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")

	connection := w.members.byName["west"]
	connection.err = clustercache.ErrClusterNotConnected
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Unreachable")
	connection.health.ConsecutiveFailures = 1
	w.settle()
	w.wantLedger("east 30/30 Settled")
	w.wantConditions("Ready Enforced")

	state("")
	w.wantLedger("east 18/18 Settled", "west 0/0 Unread")
	connection.err, connection.health.ConsecutiveFailures = nil, 0
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestDestroyedAndStillThere has a cluster be declared destroyed that is there, with its share: it is not taken in
// again and again.
func TestDestroyedAndStillThere(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastOnly + `
removal: {destroyed: [west]}`)
	w.settle()
	w.wantLedger("east 30/30 Settled")
	if revision := w.quota().Status.Revision; w.share("west").Spec.Revision >= revision {
		t.Errorf("west was told revision %d, and the ledger has %d", w.share("west").Spec.Revision, revision)
	}
}

func TestDeletion(t *testing.T) {
	for policy, want := range map[string]string{"": "Retain", "removal: {policy: Retain}": "Retain", "removal: {policy: Delete}": "Delete"} {
		t.Run(want+"/"+policy, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted+"\n"+policy)
			w.settle()
			w.must(servers[hubName].Delete(t.Context(), w.quota()))
			w.agents["west"].down = true
			w.members.byName["west"].err = clustercache.ErrClusterNotConnected
			for range 3 {
				w.round()
				w.act()
			}
			w.wantLedger("west 12/12 Unreachable")
			w.wantConditions("!Ready Removing", "Reconciling Removing", "Unreachable NotConnected")
			if got := w.message("Ready"); got != "Waiting for clusters to confirm the removal: west (Unreachable)" {
				t.Errorf("got %q", got)
			}
			w.members.byName["west"].err = nil
			w.agents["west"].down = false
			for range 3 {
				w.round()
				w.act()
			}
			if !w.gone() {
				t.Error("the FederatedQuota is still there")
			}
			for name, a := range w.agents {
				if a.removal != want {
					t.Errorf("%s was told to %q", name, a.removal)
				}
			}
		})
	}
}

// TestHubSaysWhoWrites demands that a share is created, updated and removed by the hub's field manager, as the share
// policy of a member does.
func TestHubSaysWhoWrites(t *testing.T) {
	for _, written := range deleted(t).share("west").ManagedFields {
		if written.Subresource == "" && written.Manager != "fedquota-hub" {
			t.Errorf("%s has written %s", written.Manager, written.FieldsV1)
		}
	}
}

// TestRefusedRemoval says why a share is still there.
func TestRefusedRemoval(t *testing.T) {
	for _, verb := range []string{"patch", "delete"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted)
			w.settle()
			w.before = func(write string) error {
				if write == "west: "+verb+" QuotaShare compute" {
					return apierrors.NewForbidden(quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), quotaName, nil)
				}
				return nil
			}
			w.must(servers[hubName].Delete(t.Context(), w.quota()))
			for range 4 {
				w.round()
				w.act()
			}
			w.wantLedger("west 12/12 NotReady")
			if got, want := w.message("MemberNotReady"), "west: its API server refused the removal of the share: quotashares.quota.fedquota.io \"compute\" is forbidden: <nil>"; got != want {
				t.Errorf("got %q", got)
			}
			if got, want := w.message("Ready"), "Waiting for clusters to confirm the removal: west (NotReady)"; got != want {
				t.Errorf("got %q", got)
			}
			w.before = nil
			for range 3 {
				w.round()
				w.act()
			}
			if !w.gone() {
				t.Error("the FederatedQuota is still there")
			}
		})
	}
}

func TestDeletionGivesUpWhatIsDestroyed(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["east"].err = clustercache.ErrClusterNotConnected
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	w.round()
	if w.gone() {
		t.Fatal("nobody has given the cluster up")
	}
	w.edit(weighted + `
removal: {destroyed: [east]}`)
	w.round()
	if !w.gone() {
		t.Error("the FederatedQuota is still there")
	}
	if known := w.hub.memories.number(); known > 0 {
		t.Errorf("%d FederatedQuotas are still remembered", known)
	}
}

func TestNamespaceMissing(t *testing.T) {
	w := newWorld(t, "east")
	w.join("west")
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
	w.wantConditions("!Ready Degraded", "MemberNotReady Reported", "Reconciling Degraded")
	if got, want := w.message("MemberNotReady"), "west: the namespace does not exist there: create it, or set spec.placement.createNamespace"; got != want {
		t.Errorf("got %q", got)
	}
	if result := w.round(); result.RequeueAfter < pace.RetryInterval/2 {
		t.Errorf("tried again after %s", result.RequeueAfter)
	}
	w.createNamespace("west", w.namespace)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestNamespaceThatIsNotEverywhere has a budget be ready where its namespace is in some clusters alone, and take in
// one that gets it.
func TestNamespaceThatIsNotEverywhere(t *testing.T) {
	w := newWorld(t, "east")
	w.join("west")
	w.create(quotaName, strings.Replace(weighted, "placement: {", "placement: {whereNamespaceExists: true, ", 1))
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
	w.wantConditions("Ready Enforced")
	if got := w.quota().Status.Settled; got != "1/1" {
		t.Errorf("%s clusters are settled", got)
	}
	w.createNamespace("west", w.namespace)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.wantConditions("Ready Enforced")
}

// TestMissingNamespaceIsWatched has nobody ask a member again and again for a namespace whose coming a watch tells, but
// where the hub may not watch.
func TestMissingNamespaceIsWatched(t *testing.T) {
	for name, may := range map[string]bool{"a watch": true, "no right to watch": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east")
			w.join("west")
			if !may {
				w.members.byName["west"].client = interceptor.NewClient(w.recorded("west").(client.WithWatch), interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
						return apierrors.NewForbidden(corev1.Resource("namespaces"), "", nil)
					},
				})
			}
			w.create(quotaName, weighted)
			w.settle()
			asked := 0
			w.before = func(write string) error {
				if strings.HasPrefix(write, "west: create") {
					asked++
				}
				return nil
			}
			result := w.round()
			if again := result.RequeueAfter < pace.RoundInterval(2, 1); again == may || (asked == 0) != may {
				t.Errorf("asked %d times, and again after %s", asked, result.RequeueAfter)
			}
			w.createNamespace("west", w.namespace)
			w.settle()
			w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
		})
	}
}

// TestNamespaceThatComes has a round start of the FederatedQuotas of a namespace that comes to be in a member.
func TestNamespaceThatComes(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted2)
	for name, tc := range map[string]struct {
		event event.CreateEvent
		want  int
	}{
		"its own":                   {event: created(w.namespace, false), want: 1},
		"another":                   {event: created("another", false)},
		"one that was there before": {event: created(w.namespace, true)},
	} {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		w.hub.housed().Create(t.Context(), tc.event, queue)
		if got := queue.Len(); got != tc.want {
			t.Errorf("%s: %d rounds start, want %d", name, got, tc.want)
		}
		queue.ShutDown()
	}
}

func created(namespace string, initial bool) event.CreateEvent {
	object := namespaces.Metadata()
	object.Name = namespace
	return event.CreateEvent{Object: object, IsInInitialList: initial}
}

// TestNamespaceMissingBefore has a hub manager whose cache lags behind remember that a namespace was missing, which
// another one has found since.
func TestNamespaceMissingBefore(t *testing.T) {
	w := newWorld(t, "east")
	w.join("west")
	w.create(quotaName, weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
	first := w.hub

	w.createNamespace("west", w.namespace)
	w.restart()
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")

	w.members.byName["west"].cache = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), key.Name)
		},
	})
	w.hub = first
	w.round()
	if got := w.ledger("pods"); !strings.HasPrefix(got[1], "west 12/12") {
		t.Errorf("the limit of west is in force, and the ledger says %v", got)
	}
}

func TestNamespaceIsCreated(t *testing.T) {
	w := newWorld(t)
	w.join("west")
	w.create(quotaName, `
hard: {pods: "30"}
placement: {clusterSelector: {}, createNamespace: true}
rebalance: {mode: Static}`)
	w.settle()
	w.wantLedger("west 30/30 Settled")
	w.must(servers["west"].Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{}))
}

// TestReplacedQuotaIsCharged has somebody put a ResourceQuota of their own in the place of the managed one: what it
// enforces was granted by nobody.
func TestReplacedQuotaIsCharged(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted2)
	w.settle()
	west := w.agents["west"]
	west.conditions = []metav1.Condition{{Type: "Enforced", Status: metav1.ConditionFalse, Reason: "NameTaken", Message: "it exists"}}
	west.hard = list("pods", "50")
	west.report(w.share("west"))
	west.down = true
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/50 NotReady")
	w.wantConditions("!Ready Degraded", "Debt GrantedAboveBudget", "MemberNotReady Reported", "Reconciling Degraded")
}

// TestForeignQuotaIsCalm has a ResourceQuota beside the managed one: the budget is enforced, and shares say which names
// it accepts.
func TestForeignQuotaIsCalm(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted2)
	w.settle()
	w.agents["west"].conditions = []metav1.Condition{reported("ForeignQuota", "OtherQuotas", "there is another. "+nativequota.ForeignRisk)}
	w.settle()
	w.wantConditions("Ready Enforced", "ForeignQuota Reported")
	message := apimeta.FindStatusCondition(w.quota().Status.Conditions, "ForeignQuota").Message
	if want := "west: there is another. " + nativequota.ForeignRisk; message != want {
		t.Errorf("got %q, want %q", message, want)
	}
	w.readAsGitOpsDoes()
	for _, accepted := range []string{"\nexistingQuotas: {accepted: [theirs]}", ""} {
		w.edit(weighted2 + accepted)
		w.settle()
		if got := w.share("west").Spec.ExistingQuotas.Accepted; (len(got) == 1) != (accepted != "") {
			t.Errorf("with %q the share accepts %v", accepted, got)
		}
	}
}

func TestWhatMembersReport(t *testing.T) {
	tests := map[string]struct {
		condition metav1.Condition
		state     quotav1alpha1.ClusterState
		raised    bool
	}{
		"stuck":       {condition: reported("StuckQuotaController", "CanaryNotSynced", "it does not follow"), state: "Stuck"},
		"break glass": {condition: reported("BreakGlass", "Annotated", "somebody needs it"), state: "BreakGlass"},
		"unguarded":   {condition: reported("Unguarded", "GuardMissing", "the guard is missing"), state: "NotReady"},
		"foreign":     {condition: reported("ForeignQuota", "OtherQuotas", "there is another"), state: "Settled", raised: true},
		"name taken": {
			condition: metav1.Condition{Type: "Enforced", Status: metav1.ConditionFalse, Reason: "NameTaken", Message: "it exists"},
			state:     "NotReady",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted2)
			w.settle()
			w.agents["west"].conditions = []metav1.Condition{tc.condition}
			w.settle()
			w.edit(weighted)
			w.settle()
			c := w.quota().Status.Clusters[1]
			if granted := c.Granted["pods"]; c.State != tc.state || (granted.Value() > 10) != tc.raised {
				t.Errorf("west is %s, and granted %s", c.State, granted.String())
			}
			var named bool
			for _, condition := range w.quota().Status.Conditions {
				named = named || strings.Contains(condition.Message, tc.condition.Message)
			}
			if !named {
				t.Errorf("nothing says %q: %v", tc.condition.Message, w.quota().Status.Conditions)
			}
		})
	}
}
