package pool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// top makes a pool of 10 pods, and research one below it.
func (w *world) top(name string) {
	w.Helper()
	p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name), Generation: 1}}
	p.Spec.Hard = pods("10")
	if err := w.Create(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	w.below("research", name)
	w.rounds("research", name, "research", name)
}

func (w *world) rounds(names ...string) {
	w.Helper()
	for _, name := range names {
		w.roundOf(name)
	}
}

// stands stores what a FederatedQuota is to its pool.
func (w *world) stands(fq *quotav1alpha1.FederatedQuota, uid string, tenure int64) {
	w.Helper()
	fq.Status.Pool = &quotav1alpha1.PoolMembership{Tenure: tenure, UID: uid}
	if uid != "" {
		fq.Status.Pool.Name = "research"
	}
	if err := w.Status().Update(w.Context(), fq); err != nil {
		w.Fatal(err)
	}
}

// tear takes a pool away although others stand in it.
func (w *world) tear(name string) {
	w.Helper()
	p := w.roundOf(name)
	p.Finalizers = nil
	if err := w.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	if err := w.Delete(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// TestPoolThatWasTornAway has somebody take off the finalizer of a pool in which a budget stands: the one above goes on
// counting what it gave, until the budget has left, or counts in a pool that was created anew.
func TestPoolThatWasTornAway(t *testing.T) {
	const has = "8" // of 10, of which a part stays free for whoever asks next
	wants := func(w *world, when, uid, granted string) {
		t.Helper()
		got := quotav1alpha1.ChildStatus{}
		if children := w.roundOf("acme").Status.Children; len(children) > 0 {
			got = children[0]
		}
		if q := got.Granted["pods"]; got.UID != uid || q.String() != granted {
			t.Fatalf("%s: acme counts %s of %q, want %s of %q", when, q.String(), got.UID, granted, uid)
		}
	}
	w := newWorld(t)
	w.top("acme")
	fq := w.announces("vision", "6")
	w.rounds("research", "acme", "research", "acme")
	wants(w, "before", "u-research", has)
	w.tear("research")
	wants(w, "torn away", "u-research", has)
	if c := w.roundOf("acme").Status.Children[0]; c.State != quotav1alpha1.ChildLeaving || !strings.Contains(c.Message, "FederatedQuota/vision/compute") {
		t.Errorf("it is %s: %q", c.State, c.Message)
	}
	anew := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "research", UID: "u-anew", Generation: 1}}
	anew.Spec.Hard, anew.Spec.Parent, anew.Spec.AllowedNamespaces.Selector = pods("24"), "acme", &metav1.LabelSelector{}
	if err := w.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	w.rounds("research")
	wants(w, "created anew", "u-research", has)
	w.stands(fq, "u-anew", 3)
	wants(w, "before it counts there", "u-research", has)
	w.rounds("research")
	wants(w, "counted there", "u-anew", "9") // as one that comes with 6 is raised

	w = newWorld(t)
	w.top("acme")
	fq = w.announces("vision", "6")
	w.rounds("research", "acme")
	w.tear("research")
	wants(w, "torn away", "u-research", has)
	w.stands(fq, "", 3)
	wants(w, "once it has left", "", "0")
}

// TestCircleOfTwoEdits has two pools be put below each other at one time, past the webhook: each stays where it stands,
// and counts nothing of the other.
func TestCircleOfTwoEdits(t *testing.T) {
	w := newWorld(t)
	w.announces("vision", "4")
	other := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "retail", UID: "u-retail", Generation: 1}}
	other.Spec.Hard = pods("9")
	if err := w.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.rounds("research", "retail")
	alone := granted(w.roundOf("research"))
	w.under("research", "retail")
	w.under("retail", "research")
	for range 5 {
		w.rounds("research", "retail")
	}
	before := w.roundOf("research")
	if diff := cmp.Diff(alone, granted(before)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.rounds("retail", "research", "retail")
	if after := w.roundOf("research"); after.ResourceVersion != before.ResourceVersion {
		t.Error("its rounds have no end")
	}
	w.under("research", "")
	w.rounds("research", "retail", "research", "retail")
	for _, name := range []string{"research", "retail"} {
		if ready := apimeta.FindStatusCondition(w.roundOf(name).Status.Conditions, quotav1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
			t.Errorf("mended, Ready of %s is %+v", name, ready)
		}
	}
}

// TestParentThatIsNotThere has a pool name a parent that does not exist: it goes on in the one that it stands in, and
// says so.
func TestParentThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.top("acme")
	w.below("research", "acne")
	p := w.roundOf("research")
	ready := apimeta.FindStatusCondition(p.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready.Reason != quotav1alpha1.ReasonPoolNotFollowed || !strings.Contains(ready.Message, "QuotaPool acme gave it last: there is no QuotaPool acne") {
		t.Errorf("Ready is %+v", ready)
	}
	if in := p.Status.Pool.Name; in != "acme" {
		t.Errorf("it stands in %q", in)
	}
	w.below("research", "acme")
	if ready := apimeta.FindStatusCondition(w.roundOf("research").Status.Conditions, quotav1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("mended, Ready is %+v", ready)
	}
}
