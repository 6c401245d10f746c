package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// world is a hub with a pool of 24 pods, and the namespaces vision and speech.
type world struct {
	*testing.T
	client.Client

	r     *Reconciler
	clock *clocktesting.FakeClock
}

// after lets time pass.
func (w *world) after(d time.Duration) { w.clock.Step(d) }

func newWorld(t *testing.T) *world {
	t.Helper()
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "research", UID: "u-research", Generation: 1}}
	pool.Spec.Hard, pool.Spec.AllowedNamespaces.Selector = pods("24"), &metav1.LabelSelector{}
	w := &world{T: t, Client: fake.NewClientBuilder().WithScheme(schemes.All()).
		WithObjects(pool, namespace("vision"), namespace("speech")).
		WithStatusSubresource(&quotav1alpha1.FederatedQuota{}, &quotav1alpha1.QuotaPool{}).Build()}
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w.clock = clock
	w.r = &Reconciler{Client: w.Client, Live: w.Client, Needs: &Needs{}, Trees: &trees.Trees{}, Clock: clock, Recorder: events.NewFakeRecorder(100)}
	return w
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func pods(count string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(count)}
}

// round has the pool make rounds until it has nothing more to say, and returns it.
func (w *world) round() *quotav1alpha1.QuotaPool {
	w.Helper()
	return w.roundOf("research")
}

// roundOf has a pool make rounds.
func (w *world) roundOf(name string) *quotav1alpha1.QuotaPool {
	w.Helper()
	pool := &quotav1alpha1.QuotaPool{}
	for range 5 {
		if _, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.Get(w.Context(), client.ObjectKey{Name: name}, pool); err != nil {
		w.Fatal(err)
	}
	return pool
}

// announces creates a FederatedQuota that has announced itself with what it has granted to a cluster.
func (w *world) announces(name, granted string) *quotav1alpha1.FederatedQuota {
	w.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "compute", UID: types.UID("u-" + name), Generation: 2}}
	fq.Spec.Pool, fq.Spec.Hard = &quotav1alpha1.PoolReference{Name: "research"}, pods("20")
	fq.Status = quotav1alpha1.FederatedQuotaStatus{
		Clusters: []quotav1alpha1.ClusterStatus{{Name: "east", UID: "u-east", Revision: 3, Granted: pods(granted), State: quotav1alpha1.ClusterSettled}},
		BudgetStatus: quotav1alpha1.BudgetStatus{
			Revision: 3, Used: pods(granted), Granted: pods(granted), Hard: pods("20"),
			Pool: &quotav1alpha1.PoolMembership{Name: "research", UID: "u-research", Tenure: 2},
		},
	}
	if err := w.Create(w.Context(), fq); err != nil {
		w.Fatal(err)
	}
	return fq
}

// granted returns what children have in the ledger of a pool.
func granted(pool *quotav1alpha1.QuotaPool) map[string]string {
	all := map[string]string{}
	for _, c := range pool.Status.Children {
		q := c.Granted[corev1.ResourcePods]
		all[string(c.Key)] = q.String()
	}
	return all
}

// TestEnterAndLeave has two budgets in use come into a pool: what they have counts, and one that leaves is out of the
// ledger only once it has stored that.
func TestEnterAndLeave(t *testing.T) {
	w := newWorld(t)
	if pool := w.round(); len(pool.Status.Children) != 0 || pool.Status.Revision == 0 {
		t.Fatalf("an empty pool says %+v", pool.Status)
	}
	w.announces("vision", "14")
	fq := w.announces("speech", "15")
	pool := w.round()
	want := map[string]string{"FederatedQuota/vision/compute": "14", "FederatedQuota/speech/compute": "15"}
	if diff := cmp.Diff(want, granted(pool)); diff != "" {
		t.Errorf("entered -want +got:\n%s", diff)
	}
	fq.Spec.Pool = nil
	if err := w.Update(w.Context(), fq); err != nil {
		t.Fatal(err)
	}
	if pool = w.round(); len(pool.Status.Children) != 2 {
		t.Errorf("freed at the change of spec: %v", granted(pool))
	}
	fq.Status.Pool = &quotav1alpha1.PoolMembership{Tenure: 3}
	if err := w.Status().Update(w.Context(), fq); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"FederatedQuota/vision/compute"}, keys(w.round())); diff != "" {
		t.Errorf("left -want +got:\n%s", diff)
	}
}

func keys(pool *quotav1alpha1.QuotaPool) []string {
	var found []string
	for _, c := range pool.Status.Children {
		found = append(found, string(c.Key))
	}
	return found
}

// TestRemoval has a pool that is deleted stay until its child is out.
func TestRemoval(t *testing.T) {
	w := newWorld(t)
	w.round()
	fq := w.announces("vision", "4")
	pool := w.round()
	if err := w.Delete(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if pool = w.round(); len(pool.Status.Children) != 1 {
		t.Errorf("a pool that is deleted says %v", granted(pool))
	}
	fq.Spec.Pool, fq.Status.Pool = nil, &quotav1alpha1.PoolMembership{Tenure: 3}
	status := fq.Status
	if err := w.Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	fq.Status = status
	if err := w.Status().Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); !apierrors.IsNotFound(err) {
		t.Errorf("a pool that nobody is in any more is there: %v", err)
	}
}

// below has a pool name another one as its parent, or none.
func (w *world) below(name, parent string) {
	w.Helper()
	p := w.roundOf(name)
	p.Spec.Parent = quotav1alpha1.PoolName(parent)
	if err := w.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// TestMoveBelowOnePool has a budget in use go from one pool to another: the one that it left counts it until all pools
// up to the one above both do, and what it leaves behind is free only as far as that one is not in debt by it.
func TestMoveBelowOnePool(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"acme", "retail"} {
		p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name), Generation: 1}}
		p.Spec.Hard, p.Spec.AllowedNamespaces.Selector = pods("24"), &metav1.LabelSelector{}
		if name == "acme" {
			p.Spec.Hard = pods("10")
			rule := quotav1alpha1.PoolRule{Children: []quotav1alpha1.ChildName{"research"}, RuleTerms: quotav1alpha1.RuleTerms{Min: pods("10"), Lendable: pods("0")}}
			p.Spec.Distribution.Rules = []quotav1alpha1.PoolRule{rule}
		} else {
			p.Spec.Parent = "acme"
		}
		if err := w.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.below("research", "acme")
	all := []string{"research", "retail", "acme", "research", "retail", "acme", "research", "retail"}
	for _, name := range all {
		w.roundOf(name)
	}
	fq := w.announces("vision", "6")
	for _, name := range all {
		w.roundOf(name)
	}
	const vision, below, beside = "FederatedQuota/vision/compute", "QuotaPool/research", "QuotaPool/retail"
	if got := granted(w.roundOf("acme")); got[below] != "10" {
		t.Fatalf("acme has granted %v: want all to research", got)
	}

	fq.Spec.Pool.Name = "retail"
	fq.Status.Pool = &quotav1alpha1.PoolMembership{Name: "retail", UID: "u-retail", Tenure: 3}
	status := fq.Status
	if err := w.Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	fq.Status = status
	if err := w.Status().Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	step := func(name, child, want string) {
		t.Helper()
		if got := granted(w.roundOf(name))[child]; got != want {
			t.Errorf("%s counts %q of %s, want %q", name, got, child, want)
		}
	}
	step("research", vision, "9") // nobody else counts it
	w.below("research", "")
	if in := w.roundOf("research").Status.Pool.Name; in != "acme" { // which would free what is in use in retail
		t.Errorf("research stands in %q before what has moved from it is counted", in)
	}
	w.below("research", "acme")
	step("retail", vision, "6")
	step("research", vision, "9") // acme does not count it there
	step("acme", beside, "6")
	step("research", vision, "4") // acme is in debt by that, and wants back what is idle in research
	step("acme", below, "4")
	step("research", vision, "")
	if sum := granted(w.roundOf("acme")); sum[beside] < "6" {
		t.Errorf("acme has granted %v at last", sum)
	}
}
