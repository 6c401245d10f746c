package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	pools "github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// tree is a pool over the FederatedQuotas of two worlds, which each have one member.
type tree struct {
	t    *testing.T
	name string
	hub  *pools.Reconciler
	a, b *world
}

func newTree(t *testing.T, spec string) *tree {
	t.Helper()
	a := newWorld(t, "east")
	tr := &tree{t: t, name: a.namespace, a: a, b: worldBeside(t, "west")}
	tr.hub = &pools.Reconciler{Client: a.recorded(hubName), Live: servers[hubName], Needs: a.hub.Needs, Trees: a.hub.Trees, Clock: a.clock, Recorder: events.NewFakeRecorder(1000)}
	tr.b.hub.Trees, tr.b.hub.Needs = tr.a.hub.Trees, tr.a.hub.Needs
	tr.create(tr.name, spec)
	return tr
}

// create makes a pool of the spec that the YAML says.
func (tr *tree) create(name, spec string) {
	tr.t.Helper()
	p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tr.a.must(yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	tr.a.must(servers[hubName].Create(tr.t.Context(), p))
}

func (tr *tree) pool() *quotav1alpha1.QuotaPool {
	tr.t.Helper()
	p := &quotav1alpha1.QuotaPool{}
	tr.a.must(servers[hubName].Get(tr.t.Context(), client.ObjectKey{Name: tr.name}, p))
	return p
}

// round makes a round over the pool, and holds its ledger against what is in force.
func (tr *tree) round() {
	tr.t.Helper()
	_, err := tr.hub.Reconcile(tr.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: tr.name}})
	tr.a.must(err)
}

// settle lets all act until nobody has anything to do, and holds the fleet to the budget all the time.
func (tr *tree) settle(most int64) {
	tr.t.Helper()
	for range 60 {
		tr.a.written()
		tr.b.written()
		acted := false
		for _, w := range []*world{tr.a, tr.b} {
			tr.round()
			w.round()
			acted = w.act() || acted
			if total := tr.a.total("pods") + tr.b.total("pods"); total > most {
				tr.t.Fatalf("%d pods are in force, and the budget is %d", total, most)
			}
		}
		if !acted && len(tr.a.written())+len(tr.b.written()) == 0 {
			return
		}
		for _, w := range []*world{tr.a, tr.b} {
			w.clock.SetTime(w.clock.Now().Add(2 * pace.SnapshotInterval(1, 1)))
		}
	}
	tr.t.Fatalf("no end: %v", tr.ledger())
}

// ledger returns the entries of the pool, each as "a target/granted state".
func (tr *tree) ledger() []string {
	tr.t.Helper()
	var lines []string
	for _, c := range tr.pool().Status.Children {
		granted := c.Granted["pods"]
		target := granted
		if c.Target != nil {
			target = c.Target["pods"]
		}
		name := "b"
		if strings.Contains(string(c.Key), tr.a.namespace+"/") {
			name = "a"
		}
		lines = append(lines, fmt.Sprintf("%s %s/%s %s", name, target.String(), granted.String(), c.State))
	}
	slices.Sort(lines)
	return lines
}

func (tr *tree) wantLedger(want ...string) {
	tr.t.Helper()
	if got := tr.ledger(); !slices.Equal(got, want) {
		tr.t.Errorf("the pool has %v, want %v", got, want)
	}
}

func (tr *tree) spec(hard string) string {
	return `{hard: {pods: ` + hard + `}, pool: {name: ` + tr.name + `}, placement: {clusterSelector: {}}}`
}

const anyNamespace = `{hard: {pods: 10}, allowedNamespaces: {selector: {}}}`

// limit is what is in force in the member of a world.
func limit(w *world, member string) int64 {
	return amount.Saturate(w.agents[member].hard, amount.Up)["pods"]
}

func TestPoolLends(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.settle(10)
	tr.a.agents["east"].wants = 9
	tr.settle(10)
	if got := limit(tr.a, "east"); got != 9 {
		t.Errorf("a has %d pods in force, wants 9, and b is idle: %v", got, tr.ledger())
	}
	tr.a.agents["east"].wants, tr.a.agents["east"].used = 0, list("pods", "2")
	tr.a.agents["east"].demand = nil
	tr.b.agents["west"].wants = 7
	tr.settle(10)
	if got := limit(tr.b, "west"); got != 7 {
		t.Errorf("b has %d pods in force, and wants 7 of what a does not use: %v", got, tr.ledger())
	}
	used := tr.pool().Status.Used["pods"]
	if used.Value() != 9 {
		t.Errorf("the pool says that %s are used: want the sum of its children's, 9", used.String())
	}
}

func TestPoolCountsWhatJoins(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, `{hard: {pods: 8}, placement: {clusterSelector: {}}}`)
	tr.a.agents["east"].wants = 8
	tr.a.settle()
	before := limit(tr.a, "east")
	tr.round()
	tr.a.edit(tr.spec("8"))
	tr.a.round()
	if got := tr.a.quota().Status; got.Pool == nil || got.Pool.UID != string(tr.pool().UID) || got.Pool.Revision != 0 {
		t.Errorf("it is %+v to the pool: want that it has announced itself", got.Pool)
	}
	if got := limit(tr.a, "east"); got != before {
		t.Errorf("%d pods are in force after %d: joining must not hurt", got, before)
	}
	tr.round()
	tr.wantLedger("a 8/8 Settling")
	tr.b.create(quotaName, tr.spec("10"))
	tr.b.agents["west"].wants = 5
	tr.settle(10)
	if a, b := limit(tr.a, "east"), limit(tr.b, "west"); a != 8 || b != 2 {
		t.Errorf("a has %d, b has %d in force: want 8 that are used, and 2", a, b)
	}
}

func TestPoolFreesWhatLeft(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.a.agents["east"].wants = 8
	tr.settle(10)
	tr.a.edit(`{hard: {pods: 10}, placement: {clusterSelector: {}}}`)
	tr.round()
	if len(tr.pool().Status.Children) != 2 {
		t.Errorf("it is freed before it has stored that it left: %v", tr.ledger())
	}
	tr.a.round()
	tr.round()
	if left := tr.pool().Status.Children; len(left) != 1 {
		t.Errorf("it has left, and the pool has %d entries", len(left))
	}
	if got := tr.a.quota().Status.Pool; got == nil || got.UID != "" || got.Tenure < 2 {
		t.Errorf("it is %+v to the pool after it left", got)
	}
}

func TestPoolRefusesNamespaces(t *testing.T) {
	tr := newTree(t, `{hard: {pods: 10}}`)
	tr.a.create(quotaName, tr.spec("10"))
	tr.a.round()
	tr.round()
	if got := tr.pool().Status; len(got.Children) != 0 || !apimeta.IsStatusConditionTrue(got.Conditions, quotav1alpha1.ConditionChildNotReady) {
		t.Errorf("children %v, conditions %v", got.Children, got.Conditions)
	}
	if got, want := tr.a.conditions(), []string{"!Ready PoolPending", "Reconciling PoolPending"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPoolThatIsNotThere(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, `{hard: {pods: 10}, pool: {name: `+tr.name+`-other}, placement: {clusterSelector: {}}}`)
	tr.a.round()
	if got, want := tr.a.conditions(), []string{"!Ready PoolPending", "Reconciling PoolPending"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := tr.a.quota().Status.Pool; got != nil {
		t.Errorf("it is %+v to a pool that is not there", got)
	}
}

// TestPoolThatIsNamedInVain has a budget name a pool that is not there while it stands in another one: it goes on there,
// and says so.
func TestPoolThatIsNamedInVain(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.a.agents["east"].wants = 9
	tr.settle(10)
	tr.a.edit(`{hard: {pods: 10}, pool: {name: ` + tr.name + `-other}, placement: {clusterSelector: {}}}`)
	tr.settle(10)
	tr.a.wantConditions("!Ready PoolNotFollowed", "Reconciling PoolNotFollowed")
	if got, want := tr.a.message("Ready"), "It goes on with what QuotaPool "+tr.name+" gave it last: there is no QuotaPool "+tr.name+"-other"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := limit(tr.a, "east"); got < 9 {
		t.Errorf("%d pods are in force: want the 9 that it has in use", got)
	}
	tr.a.edit(tr.spec("10"))
	tr.settle(10)
	tr.a.wantConditions("Ready Enforced")
}

// TestPoolFollowsNodes has the nodes of a cluster that is destroyed, and of none that is there, count for nothing.
func TestPoolFollowsNodes(t *testing.T) {
	tr := newTree(t, `{capacity: {resources: [pods], placement: {clusters: [east, north]}}, allowedNamespaces: {selector: {}}}`)
	tr.hub.Clusters, tr.hub.Members = tr.a.hub.Clusters, tr.a.members
	tr.a.runs("east", 1, "10")
	budget := func(want, summary string) {
		t.Helper()
		tr.round()
		status := tr.pool().Status
		if has := status.Hard["pods"]; has.String() != want || status.Capacity.Summary != summary {
			t.Errorf("%s pods of %s, want %s of %s", has.String(), status.Capacity.Summary, want, summary)
		}
	}
	budget("10", "1 node in 1 cluster, 1 without a report")
	if got := tr.pool().Status.Capacity.Unreported; len(got) != 1 || got[0] != "north" {
		t.Errorf("without a report are %v", got)
	}
	cluster := tr.a.cluster("east")
	cluster.Annotations = map[string]string{quotav1alpha1.DestroyedAnnotation: "its region is gone"}
	tr.a.must(servers[hubName].Update(t.Context(), cluster))
	budget("10", "1 node in 1 cluster, 1 without a report")
	connection := tr.a.members.byName["east"]
	connection.err, connection.health.ConsecutiveFailures = clustercache.ErrClusterNotConnected, 1
	budget("0", "0 nodes in 0 clusters, 1 without a report")
}

func TestPoolWaitsForItsChildren(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.settle(10)
	tr.a.must(servers[hubName].Delete(t.Context(), tr.pool()))
	tr.round()
	ready := apimeta.FindStatusCondition(tr.pool().Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || ready.Reason != quotav1alpha1.ReasonRemoving || !strings.Contains(ready.Message, tr.a.namespace+"/"+quotaName) {
		t.Errorf("Ready is %+v: want it to name who is to leave", ready)
	}
	for _, w := range []*world{tr.a, tr.b} {
		w.edit(`{hard: {pods: 5}, placement: {clusterSelector: {}}}`)
		w.round()
	}
	tr.round()
	err := servers[hubName].Get(t.Context(), client.ObjectKey{Name: tr.name}, &quotav1alpha1.QuotaPool{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the pool is there after all have left: %v", err)
	}
}

func TestPoolLimitsNamesThatAChildDoesNotList(t *testing.T) {
	tr := newTree(t, `{hard: {pods: 10, services: 4}, allowedNamespaces: {selector: {}}}`)
	tr.a.create(quotaName, tr.spec("10"))
	tr.settle(10)
	if _, limited := tr.a.agents["east"].hard["services"]; !limited {
		t.Errorf("services are not limited in the member: %v", tr.a.agents["east"].hard)
	}
}

// TestPoolLimitsNamesThatScopesDoNotCount has a name be left out where nothing can be counted under it, and says so.
func TestPoolLimitsNamesThatScopesDoNotCount(t *testing.T) {
	tr := newTree(t, `{hard: {pods: 10, services: 4}, allowedNamespaces: {selector: {}}}`)
	tr.a.create(quotaName, `{hard: {pods: 10}, scopes: [NotTerminating], pool: {name: `+tr.name+`}, placement: {clusterSelector: {}}}`)
	tr.settle(10)
	if _, limited := tr.a.agents["east"].hard["services"]; limited || limit(tr.a, "east") == 0 {
		t.Errorf("in the member there is %v", tr.a.agents["east"].hard)
	}
	tr.a.wantConditions("Ready Enforced", "NameNotCounted OutOfScope")
}

func TestPoolLedgerThatWasLost(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.a.agents["east"].wants = 8
	tr.settle(10)
	p := tr.pool()
	p.Status = quotav1alpha1.QuotaPoolStatus{BudgetStatus: quotav1alpha1.BudgetStatus{ObservedGeneration: -1}}
	tr.a.must(servers[hubName].Status().Update(t.Context(), p))
	tr.a.clock.SetTime(tr.a.clock.Now().Add(time.Minute))
	tr.round()
	for _, c := range tr.pool().Status.Children {
		if c.State != quotav1alpha1.ChildUnread {
			t.Errorf("%s is %s after the ledger was lost: want it to count as unknown", c.Key, c.State)
		}
	}
	tr.b.agents["west"].wants = 5
	tr.settle(10)
	if a, b := limit(tr.a, "east"), limit(tr.b, "west"); a != 8 || b != 2 {
		t.Errorf("a has %d, b has %d in force: want 8 and 2", a, b)
	}
}

func TestPoolBelowAPool(t *testing.T) {
	tr := newTree(t, anyNamespace)
	above := tr.name + "-above"
	tr.create(above, `{hard: {pods: 6}}`)
	p := tr.pool()
	p.Spec.Parent = quotav1alpha1.PoolName(above)
	tr.a.must(servers[hubName].Update(t.Context(), p))
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.a.agents["east"].wants, tr.b.agents["west"].wants = 9, 1
	for range 12 {
		tr.round()
		_, err := tr.hub.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: above}})
		tr.a.must(err)
		tr.a.round()
		tr.b.round()
		tr.a.act()
		tr.b.act()
		if total := tr.a.total("pods") + tr.b.total("pods"); total > 6 {
			t.Fatalf("%d pods are in force, and the pool above has 6", total)
		}
		tr.a.clock.SetTime(tr.a.clock.Now().Add(time.Minute))
		tr.b.clock.SetTime(tr.b.clock.Now().Add(time.Minute))
	}
	if a, b := limit(tr.a, "east"), limit(tr.b, "west"); a+b != 6 || b < 1 {
		t.Errorf("a has %d, b has %d in force: want the 6 of the pool above, and 1 of them for b", a, b)
	}
}

// restart has the hub manager start again, without what it knew.
func (tr *tree) restart() {
	tr.a.restart()
	tr.b.restart()
	tr.b.hub.Trees, tr.b.hub.Needs = tr.a.hub.Trees, tr.a.hub.Needs
	tr.hub = &pools.Reconciler{Client: tr.a.recorded(hubName), Live: servers[hubName], Needs: tr.a.hub.Needs, Trees: tr.a.hub.Trees, Clock: tr.a.clock, Recorder: events.NewFakeRecorder(1000)}
}

// putBack has the hub's store go back to before a was raised, and returns what it has by then.
func (tr *tree) putBack() (fqs []*quotav1alpha1.FederatedQuota, p *quotav1alpha1.QuotaPool) {
	tr.t.Helper()
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.settle(10)
	fqs, p = []*quotav1alpha1.FederatedQuota{tr.a.quota(), tr.b.quota()}, tr.pool()
	tr.a.agents["east"].wants = 9
	tr.settle(10)
	for _, fq := range fqs {
		now := &quotav1alpha1.FederatedQuota{}
		tr.a.must(servers[hubName].Get(tr.t.Context(), client.ObjectKeyFromObject(fq), now))
		now.Status = fq.Status
		tr.a.must(servers[hubName].Status().Update(tr.t.Context(), now))
	}
	now := tr.pool()
	now.Status = p.Status
	tr.a.must(servers[hubName].Status().Update(tr.t.Context(), now))
	tr.restart()
	for _, w := range []*world{tr.a, tr.b} {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
	}
	tr.b.agents["west"].wants = 9
	return fqs, p
}

// TestRestoreOutlivesTheHubManager has the hub manager start again when the one budget whose member shows that the store
// was put back has rebuilt its ledger, and nobody else has: what the ledger says has the others rebuild theirs.
func TestRestoreOutlivesTheHubManager(t *testing.T) {
	tr := newTree(t, anyNamespace)
	_, p := tr.putBack()
	tr.a.round()
	if got := tr.pool().Status; got.Revision != p.Status.Revision {
		t.Fatalf("the pool has rebuilt: revision %d", got.Revision)
	}
	tr.restart()
	tr.round()
	tr.a.round()
	tr.round()
	tr.b.round()
	if got := tr.b.quota().Status.Pool; got.Cap != nil || got.Revision <= p.Status.Revision {
		t.Errorf("b is %+v to the pool: want a floor", got)
	}
	restored := tr.a.quota().Status.Restored
	if b, pool := tr.b.quota().Status.Restored, tr.pool().Status.Restored; restored == 0 || b != restored || pool != restored {
		t.Errorf("the restore of a is %d, of b %d, of the pool %d: want one", restored, b, pool)
	}
	tr.settle(10)
	if a, b := limit(tr.a, "east"), limit(tr.b, "west"); a+b != 10 || a < 9 {
		t.Errorf("a has %d, b has %d in force: want the 9 that a uses, and 1", a, b)
	}
}

func TestPoolTreeIsRebuiltAsOne(t *testing.T) {
	tr := newTree(t, anyNamespace)
	before, p := tr.putBack()
	tr.b.round()
	if got := tr.b.quota().Status.Pool; got.Cap != nil && got.Revision > before[1].Status.Pool.Revision {
		t.Errorf("b takes up revision %d before a is heard", got.Revision)
	}
	tr.a.round()
	tr.b.round()
	for _, w := range []*world{tr.a, tr.b} {
		if got := w.quota().Status.Pool; got.Cap != nil || got.Revision <= p.Status.Revision {
			t.Errorf("%s is %+v to the pool after its ledger was put back: want a floor", w.namespace, got)
		}
	}
	tr.settle(10)
	if a, b := limit(tr.a, "east"), limit(tr.b, "west"); a+b != 10 || a < 9 {
		t.Errorf("a has %d, b has %d in force: want the 9 that a uses, and 1", a, b)
	}
}

// TestLostInATreeThatWasPutBack loses the ledger of a budget in a pool, long after the store of the hub was put back: the
// pool counts what it has until its members have said that, also if its spec cannot be acted on.
func TestLostInATreeThatWasPutBack(t *testing.T) {
	for name, hinder := range map[string]func(tr *tree){
		"its member answers":   func(*tree) {},
		"its member is silent": func(tr *tree) { tr.a.cutOff("east") },
		"its spec is invalid": func(tr *tree) {
			tr.a.edit(`{hard: {pods: 10}, reserve: {pods: 11}, pool: {name: ` + tr.name + `}, placement: {clusterSelector: {}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, anyNamespace)
			tr.a.create(quotaName, tr.spec("10"))
			tr.b.create(quotaName, tr.spec("10"))
			tr.settle(10)
			tr.a.hub.Trees.Hear("another", tr.a.hub.Trees.Next(ledger.Epoch(tr.a.clock.Now())))
			tr.a.agents["east"].uses(list("pods", "2"))
			tr.a.agents["east"].wants = 7
			tr.settle(10)
			if got := limit(tr.a, "east"); got < 7 {
				t.Fatalf("a has %d pods in force, wants 7, and b is idle: %v", got, tr.ledger())
			}
			hinder(tr)
			tr.a.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
			tr.b.agents["west"].wants = 10
			tr.settle(10)
			if name == "its member answers" && limit(tr.b, "west") == 0 {
				t.Errorf("b has nothing in force: %v", tr.ledger())
			}
		})
	}
}
