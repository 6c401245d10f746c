package quota

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	pools "github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/hub/stores"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/shares"
)

const quotaName = "compute"

// world is a hub and its members, as one test sees them: namespaces of its own on the API servers that all tests share.
type world struct {
	t *testing.T
	// namespace is that of the FederatedQuotas, clusters that of the Clusters.
	namespace, clusters string
	members             *connections
	clock               *clocktesting.FakePassiveClock
	hub                 *Reconciler
	agents              map[string]*agent

	mutex sync.Mutex
	// writes are those of the hub manager, in order.
	writes []string
	// before and after are asked around each of them; an error of before prevents it.
	before, after func(write string) error
}

// newWorld returns a world with the given members, whose namespace exists everywhere. The test runs beside others.
func newWorld(t *testing.T, members ...string) *world {
	t.Helper()
	t.Parallel()
	return worldBeside(t, members...)
}

// worldBeside returns another world in the same test, with a namespace of its own.
func worldBeside(t *testing.T, members ...string) *world {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds API servers", fleet.AssetsVariable)
	}
	w := &world{
		t:       t,
		members: &connections{byName: map[string]*connection{}},
		clock:   clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		agents:  map[string]*agent{},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	w.must(servers[hubName].Create(t.Context(), namespace))
	w.namespace, w.clusters = namespace.Name, namespace.Name+"-clusters"
	w.createNamespace(hubName, w.clusters)
	for _, name := range members {
		w.createNamespace(name, w.namespace)
		w.join(name)
	}
	w.restart()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) createNamespace(server, name string) {
	w.t.Helper()
	w.must(servers[server].Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// join makes a Cluster of a member, labelled with its name, and connects to it.
func (w *world) join(name string) {
	w.t.Helper()
	w.register(name)
	w.members.byName[name] = &connection{client: w.recorded(name)}
	w.agents[name] = &agent{world: w, name: name}
}

// register makes a Cluster.
func (w *world) register(name string) {
	w.t.Helper()
	w.must(servers[hubName].Create(w.t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.clusters, Name: name, Labels: map[string]string{"name": name}},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: name, Port: 6443}},
	}))
}

// restart starts the hub manager, or starts it again without anything that it remembers.
func (w *world) restart() { w.hub = w.newHub() }

func (w *world) newHub() *Reconciler {
	hub := w.recorded(hubName)
	watcher := &stores.Watcher{
		Client: hub, Members: w.members, Clusters: members.Namespaces{Home: w.clusters}, Clock: w.clock, Timeout: time.Minute,
		Wake: make(chan event.GenericEvent, 100), // looks see the shares of other tests, too
	}
	watcher.BeginAt(w.clock.Now().Add(-pace.Looking))
	r := &Reconciler{
		Client: hub, Live: hub, Members: w.members, Stores: watcher, Clusters: members.Namespaces{Home: w.clusters}, Clock: w.clock,
		Recorder: events.NewFakeRecorder(1000), Timeout: time.Minute, Trees: &trees.Trees{}, Needs: &pools.Needs{},
		Namespaces: &namespaces.Watcher{Members: w.members, Stores: watcher, Clock: w.clock, Timeout: time.Minute},
	}
	r.nodes.Store(true)
	return r
}

// recorded returns a client that notes what the hub manager writes.
func (w *world) recorded(server string) client.Client {
	write := func(verb string, object client.Object, do func() error) error {
		what := fmt.Sprintf("%s: %s %s %s", server, verb, strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1alpha1."), "*v1beta2."), object.GetName())
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if w.before != nil {
			if err := w.before(what); err != nil {
				return err
			}
		}
		err := do()
		if err == nil {
			w.writes = append(w.writes, what)
		}
		if err == nil && w.after != nil {
			err = w.after(what)
		}
		return err
	}
	return interceptor.NewClient(servers[server], interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return write("create", object, func() error { return c.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return write("delete", object, func() error { return c.Delete(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return write("patch", object, func() error { return c.Patch(ctx, object, patch, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return write("store", object, func() error { return c.Status().Update(ctx, object, options...) })
		},
	})
}

// create makes a FederatedQuota of the spec that the YAML says.
func (w *world) create(name, spec string) {
	w.t.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.must(yaml.UnmarshalStrict([]byte(spec), &fq.Spec))
	w.must(servers[hubName].Create(w.t.Context(), fq))
	w.hub.births.attended.Store(fq.UID, shares.Birth{})
}

// edit changes the spec to what the YAML says.
func (w *world) edit(spec string) {
	w.t.Helper()
	fq := w.quota()
	fq.Spec = quotav1alpha1.FederatedQuotaSpec{}
	w.must(yaml.UnmarshalStrict([]byte(spec), &fq.Spec))
	w.must(servers[hubName].Update(w.t.Context(), fq))
}

func (w *world) quota() *quotav1alpha1.FederatedQuota {
	w.t.Helper()
	return w.quotaNamed(quotaName)
}

func (w *world) quotaNamed(name string) *quotav1alpha1.FederatedQuota {
	w.t.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	w.must(servers[hubName].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, fq))
	return fq
}

// share returns the share of a member, or nil.
func (w *world) share(member string) *quotav1alpha1.QuotaShare {
	w.t.Helper()
	share := &quotav1alpha1.QuotaShare{}
	err := servers[member].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: quotaName}, share)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return share
}

func (w *world) request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}}
}

// round makes the hub manager go through one round, which succeeds.
func (w *world) round() ctrl.Result {
	w.t.Helper()
	result, err := w.reconcile(quotaName)
	w.must(err)
	return result
}

// reconcile makes the hub manager go through one round, and checks what it leaves behind.
func (w *world) reconcile(name string) (ctrl.Result, error) {
	w.t.Helper()
	result, err := w.hub.Reconcile(w.t.Context(), w.request(name))
	w.check()
	return result, err
}

// written returns what the hub manager has written since it was asked last.
func (w *world) written() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	written := w.writes
	w.writes = nil
	return written
}

// settle lets the hub manager and the agents of all members act until nobody has anything to do.
func (w *world) settle() {
	w.t.Helper()
	for range 40 {
		w.written()
		w.round()
		acted := w.act()
		if !acted && len(w.written()) == 0 {
			return
		}
		w.clock.SetTime(w.clock.Now().Add(2 * pace.SnapshotInterval(1, 1)))
	}
	w.t.Fatalf("no end: %v", w.ledger("pods"))
}

// act lets all agents act, and says whether any of them did.
func (w *world) act() bool {
	w.t.Helper()
	acted := false
	for _, name := range slices.Sorted(maps.Keys(w.agents)) {
		acted = w.agents[name].act() || acted
	}
	return acted
}

// message returns what a condition says.
func (w *world) message(condition string) string {
	w.t.Helper()
	c := apimeta.FindStatusCondition(w.quota().Status.Conditions, condition)
	if c == nil {
		w.t.Fatalf("no condition %s", condition)
	}
	return c.Message
}

// ledger returns the entries, each as "cluster target/granted state" of one resource name.
func (w *world) ledger(name corev1.ResourceName) []string {
	w.t.Helper()
	var lines []string
	for _, c := range w.quota().Status.Clusters {
		granted := c.Granted[name]
		target := granted
		if c.Target != nil {
			target = c.Target[name]
		}
		lines = append(lines, fmt.Sprintf("%s %s/%s %s", c.Name, target.String(), granted.String(), c.State))
	}
	return lines
}

// conditions returns the conditions, each as "Type reason" with an exclamation mark if it is False.
func (w *world) conditions() []string {
	w.t.Helper()
	return conditionsOf(w.quota())
}

// conditionsOf returns the conditions, those after Ready sorted: their order tells which came first, and nothing else.
func conditionsOf(fq *quotav1alpha1.FederatedQuota) []string {
	var lines []string
	for _, c := range fq.Status.Conditions {
		line := c.Type + " " + c.Reason
		if c.Status != metav1.ConditionTrue {
			line = "!" + line
		}
		lines = append(lines, line)
	}
	if len(lines) > 1 {
		slices.Sort(lines[1:])
	}
	return lines
}
