package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pool"
)

// takesUp has a child store what the pool offers, and say what it uses and needs.
func (w *world) takesUp(fq *quotav1alpha1.FederatedQuota, used string, demand corev1.ResourceList, unit string) {
	w.Helper()
	offer, _ := pool.OfferTo(pool.QuotaKey(fq.Namespace, fq.Name), w.round())
	fq.Status.Pool.Revision, fq.Status.Pool.Cap = offer.Revision, offer.Target.ToList(nil)
	fq.Status.Hard, fq.Status.Granted, fq.Status.Clusters[0].Granted = fq.Status.Pool.Cap, fq.Status.Pool.Cap, fq.Status.Pool.Cap
	fq.Status.Used, fq.Status.Demand, fq.Status.DemandByShape = pods(used), demand, nil
	if unit != "" {
		fq.Status.DemandByShape = []quotav1alpha1.DemandShape{{Amounts: demand, Unit: pods(unit)}}
	}
	if err := w.Status().Update(w.Context(), fq); err != nil {
		w.Fatal(err)
	}
}

// later returns the pool as it is a minute later, when it stores usage, too.
func (w *world) later() *quotav1alpha1.QuotaPool {
	w.Helper()
	w.r.Clock.(*clocktesting.FakeClock).Step(time.Minute)
	return w.round()
}

// TestWholeRequests has two children lack two each, of which there are two: one that asks for them at once gets both.
func TestWholeRequests(t *testing.T) {
	for unit, want := range map[string][]string{"1": {"12", "12"}, "2": {"11", "13"}} {
		t.Run("in requests of "+unit, func(t *testing.T) {
			w := newWorld(t)
			w.round()
			both := []*quotav1alpha1.FederatedQuota{w.announces("vision", "11"), w.announces("speech", "11")}
			for range 3 {
				for _, fq := range both {
					w.takesUp(fq, "11", pods("2"), unit)
				}
			}
			got := granted(w.round())
			parts := []string{got["FederatedQuota/vision/compute"], got["FederatedQuota/speech/compute"]}
			if parts[0] > parts[1] {
				parts[0], parts[1] = parts[1], parts[0]
			}
			if diff := cmp.Diff(want, parts); diff != "" {
				t.Errorf("granted -want +got:\n%s", diff)
			}
		})
	}
}

// TestCoupledNames has a child lack what the pool has none of: of the other name it gets nothing, which it could not use.
func TestCoupledNames(t *testing.T) {
	w := newWorld(t)
	p := w.round()
	p.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("11")
	if err := w.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	fq := w.announces("vision", "11")
	for range 3 {
		w.takesUp(fq, "11", pods("2"), "")
	}
	before := granted(w.round())
	fq.Status.Used[corev1.ResourceRequestsCPU] = resource.MustParse("11")
	fq.Status.Demand = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9"), corev1.ResourceRequestsCPU: resource.MustParse("9")}
	unit := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), corev1.ResourceRequestsCPU: resource.MustParse("1")}
	fq.Status.DemandByShape = []quotav1alpha1.DemandShape{{Amounts: fq.Status.Demand, Unit: unit}}
	if err := w.Status().Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, granted(w.round())); diff != "" {
		t.Errorf("granted pods for which there is no cpu, -before +after:\n%s", diff)
	}
}

// TestNeedsComeBeforeTheyAreStored has a child say what it needs of the version that the pool knows, and of another one.
func TestNeedsComeBeforeTheyAreStored(t *testing.T) {
	w := newWorld(t)
	w.round()
	fq := w.announces("vision", "4")
	for range 3 {
		w.takesUp(fq, "4", nil, "")
	}
	key := pool.QuotaKey(fq.Namespace, fq.Name)
	w.r.Needs.Tell("research", key, nil, Need{Version: "another", Used: pods("4"), Demand: pods("13")}, true)
	if got := w.later().Status.Demand[corev1.ResourcePods]; !got.IsZero() {
		t.Errorf("the pool has heard of a demand of %s by a version that it does not know", got.String())
	}
	w.r.Needs.Tell("research", key, nil, Need{Version: fq.ResourceVersion, Used: pods("4"), Demand: pods("13")}, true)
	if got := w.later().Status.Demand[corev1.ResourcePods]; got.Value() != 13 {
		t.Errorf("the pool has heard of a demand of %s, want 13", got.String())
	}
	w.takesUp(fq, "4", pods("1"), "")
	if got := w.later().Status.Demand[corev1.ResourcePods]; got.Value() != 1 {
		t.Errorf("the pool has heard of a demand of %s, and 1 is stored", got.String())
	}
}

// TestWhoWakesAPool has children tell what they need of a pool in which somebody lacks something, and of another one.
func TestWhoWakesAPool(t *testing.T) {
	for name, tc := range map[string]struct {
		short, haste bool
		used         string
		want         int
	}{
		"nobody lacks anything":      {used: "1"},
		"somebody lacks what it had": {short: true, used: "1", want: 1},
		"it uses more":               {short: true, used: "3"},
		"it lacks something itself":  {haste: true, used: "3", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer queue.ShutDown()
			n := &Needs{}
			if err := n.start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			n.fallShort("research", tc.short)
			n.Tell("research", "FederatedQuota/vision/compute", pods("2"), Need{Used: pods(tc.used)}, tc.haste)
			if queue.Len() != tc.want {
				t.Errorf("%d rounds are due, want %d", queue.Len(), tc.want)
			}
			if tc.want == 1 {
				if got, _ := queue.Get(); got.NamespacedName != (client.ObjectKey{Name: "research"}) {
					t.Errorf("a round over %s is due", got)
				}
			}
		})
	}
}
