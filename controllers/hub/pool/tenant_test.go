package pool

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/tenant"
)

// selects has the pool select namespaces by label, and allow no others.
func (w *world) selects() {
	w.Helper()
	pool := w.round()
	pool.Spec.AllowedNamespaces.Selector = nil
	pool.Spec.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "vision"}}
	if err := w.Update(w.Context(), pool); err != nil {
		w.Fatal(err)
	}
}

// label gives a namespace a team.
func (w *world) label(name, team string) {
	w.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	if err := w.Patch(w.Context(), n, client.Merge); err != nil {
		w.Fatal(err)
	}
}

// keeps marks a FederatedQuota as kept for a pool.
func (w *world) keeps(fq *quotav1alpha1.FederatedQuota) {
	w.Helper()
	fq.Labels = map[string]string{quotav1alpha1.KeptLabel: tenant.Kept}
	if err := w.Update(w.Context(), fq); err != nil {
		w.Fatal(err)
	}
}

// TestNamespaceThatLeaves has a namespace leave with what it uses: it gets nothing more, and counts until it is gone.
func TestNamespaceThatLeaves(t *testing.T) {
	w := newWorld(t)
	w.selects()
	w.label("vision", "vision")
	w.label("speech", "vision")
	fq := w.announces("vision", "14")
	w.keeps(fq)
	w.keeps(w.announces("speech", "4"))
	before := w.round()
	if len(before.Status.Children) != 2 {
		t.Fatalf("children %v, conditions %v", granted(before), before.Status.Conditions)
	}
	w.label("vision", "")
	w.after(time.Hour)
	pool := w.round()
	c := pool.Status.Children[1]
	if target := c.Target[corev1.ResourcePods]; c.State != quotav1alpha1.ChildLeaving || c.Target == nil || target.Sign() > 0 {
		t.Errorf("a namespace that leaves is %s, and has a target of %s", c.State, target.String())
	}
	if diff := cmp.Diff(granted(before), granted(pool)); diff != "" {
		t.Errorf("freed before the namespace has given it back: -want +got:\n%s", diff)
	}
}

// TestKeptByNobody has a FederatedQuota that somebody has only labelled so not come into a pool.
func TestKeptByNobody(t *testing.T) {
	w := newWorld(t)
	w.selects()
	w.keeps(w.announces("vision", "14"))
	if pool := w.round(); len(pool.Status.Children) != 0 {
		t.Errorf("a namespace that is not the pool's has %v of it", granted(pool))
	}
}

// TestPoolWaitsForWhatIsKept has a pool stay until the FederatedQuotas that are kept for it are gone, also if they have
// never had a part of it.
func TestPoolWaitsForWhatIsKept(t *testing.T) {
	w := newWorld(t)
	w.selects()
	w.label("vision", "vision")
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: "budget"}}
	fq.Labels, fq.Spec.Pool = map[string]string{quotav1alpha1.KeptLabel: tenant.Kept}, &quotav1alpha1.PoolReference{Name: "research"}
	if err := w.Create(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), w.round()); err != nil {
		t.Fatal(err)
	}
	w.round() // which finds it
}

// TestManyEnterAtOnce has more children come than are read one by one.
func TestManyEnterAtOnce(t *testing.T) {
	w := newWorld(t)
	w.round()
	for i := range fewReads + 5 {
		name := fmt.Sprintf("team-%02d", i)
		if err := w.Create(t.Context(), namespace(name)); err != nil {
			t.Fatal(err)
		}
		w.announces(name, "1")
	}
	pool := w.round()
	if got := pool.Status.Granted[corev1.ResourcePods]; len(pool.Status.Children) != fewReads+5 || got.Value() != fewReads+5 {
		t.Errorf("%d of %d are counted, with %s pods: %v", len(pool.Status.Children), fewReads+5, got.String(), pool.Status.Conditions)
	}
}
