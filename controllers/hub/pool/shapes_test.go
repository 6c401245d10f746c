package pool

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/validate"
)

// chain makes pools, each the parent of the next one, below the last of which research is.
func (w *world) chain(count int) {
	w.Helper()
	parent := ""
	for i := range count {
		p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("u-", i))}}
		p.Spec.Hard, p.Spec.Parent = pods("24"), quotav1alpha1.PoolName(parent)
		if err := w.Create(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		parent = p.Name
	}
	w.under("research", parent)
}

// under gives a pool another parent, past the webhook.
func (w *world) under(name, parent string) {
	w.Helper()
	p := &quotav1alpha1.QuotaPool{}
	if err := w.Get(w.Context(), client.ObjectKey{Name: name}, p); err != nil {
		w.Fatal(err)
	}
	p.Spec.Parent = quotav1alpha1.PoolName(parent)
	if err := w.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// TestTreesThatCannotBe has a pool in a circle and one too deep raise nobody, and lower nobody, until the tree is mended.
func TestTreesThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks func(w *world)
		says   string
	}{
		"a circle":        {func(w *world) { w.chain(2); w.under("p0", "research") }, "circle"},
		"its own parent":  {func(w *world) { w.under("research", "research") }, "circle"},
		"too many levels": {func(w *world) { w.chain(validate.MostLevels) }, fmt.Sprint(validate.MostLevels)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.round()
			w.announces("vision", "4")
			before := granted(w.round())
			tc.breaks(w)
			w.announces("speech", "3")
			p := w.round()
			ready := apimeta.FindStatusCondition(p.Status.Conditions, quotav1alpha1.ConditionReady)
			if ready == nil || ready.Reason != quotav1alpha1.ReasonInvalidSpec || !strings.Contains(ready.Message, tc.says) {
				t.Errorf("Ready is %+v", ready)
			}
			const vision, speech = "FederatedQuota/vision/compute", "FederatedQuota/speech/compute"
			if has := granted(p); has[vision] != before[vision] || has[speech] != "3" {
				t.Errorf("granted is %v after %v: want what each has", has, before)
			}
			w.under("research", "")
			if ready := apimeta.FindStatusCondition(w.round().Status.Conditions, quotav1alpha1.ConditionReady); ready.Reason == quotav1alpha1.ReasonInvalidSpec {
				t.Errorf("mended, Ready is %+v", ready)
			}
		})
	}
}

// TestChildWhoseStatusWasWiped has a budget forget that it is in the pool: it may have granted anything until its own
// ledger has begun again, and nobody is raised.
func TestChildWhoseStatusWasWiped(t *testing.T) {
	w := newWorld(t)
	w.round()
	w.announces("vision", "4")
	fq := w.announces("speech", "3")
	before := granted(w.round())
	fq.Status = quotav1alpha1.FederatedQuotaStatus{BudgetStatus: quotav1alpha1.BudgetStatus{ObservedGeneration: -1}}
	if err := w.Status().Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	if after := granted(w.round()); after["FederatedQuota/speech/compute"] != before["FederatedQuota/speech/compute"] {
		t.Errorf("what it has became %v, from %v", after, before)
	}
	fq.Status.Pool = &quotav1alpha1.PoolMembership{Name: "research", UID: "u-research", Tenure: 3, Revision: 1 << 40}
	if err := w.Status().Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	p := w.round()
	if rebuilding := apimeta.FindStatusCondition(p.Status.Conditions, quotav1alpha1.ConditionRebuilding); rebuilding == nil || p.Status.Revision <= 1<<40 {
		t.Errorf("at revision %d: %+v", p.Status.Revision, p.Status.Conditions)
	}
	for _, c := range p.Status.Children {
		if c.State != quotav1alpha1.ChildUnread {
			t.Errorf("%s is %s after a rebuild", c.Key, c.State)
		}
	}
}

// TestMoreNamesThanThereIsRoomFor has a pool limit so many that a budget cannot take them up: it goes on with what it had.
func TestMoreNamesThanThereIsRoomFor(t *testing.T) {
	w := newWorld(t)
	p, own := &quotav1alpha1.QuotaPool{}, amount.List{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "research"}, p); err != nil {
		t.Fatal(err)
	}
	entry := quotav1alpha1.ChildStatus{Key: "FederatedQuota/vision/compute", UID: "u-vision", Tenure: 2, Revision: 7, Granted: corev1.ResourceList{}}
	for i := range validate.MostNames {
		name := corev1.ResourceName(fmt.Sprint("count/kind", i))
		entry.Granted[name] = pods("1")[corev1.ResourcePods]
		if i > 0 {
			own[name] = 1
		}
	}
	stored := &quotav1alpha1.PoolMembership{Name: "research", UID: "u-research", Tenure: 2, Revision: 3, Cap: pods("4")}
	for name, tc := range map[string]struct {
		own  amount.List
		want int64
	}{
		"as many as there is room for": {own: own, want: 7},
		"one more":                     {own: amount.Sum(own, amount.List{"pods": 1}), want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			p.Status.Children = []quotav1alpha1.ChildStatus{entry}
			if err := w.Status().Update(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			m, trouble, err := membership.Finder{Cached: w, Live: w}.Find(t.Context(), &membership.Child{
				Key: pool.QuotaKey("vision", "compute"), UID: "u-vision", Pool: "research", Stored: stored, Own: tc.own,
			})
			if err != nil || m.Revision != tc.want || (trouble != "") != (tc.want == 3) {
				t.Errorf("revision %d, %q, %v: want revision %d", m.Revision, trouble, err, tc.want)
			}
		})
	}
}
