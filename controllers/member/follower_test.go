package member

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestEarlyRequestsAreLookedAt has a request wait before any controller has started.
func TestEarlyRequestsAreLookedAt(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "compute"}
	d := &Demand{Book: demand.NewBook()}
	d.Book.Hold(key, demand.Owner{Kind: "Pod", Name: "p"}, nil, amount.List{"pods": 2}, time.Unix(1000, 0))
	d.Report(key)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	if err := d.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 1 {
		t.Fatalf("%d shares are looked at, want 1", queue.Len())
	}
	if got, _ := queue.Get(); got.NamespacedName != key {
		t.Errorf("got %s", got)
	}
}

// TestFollower reports what a replica without the lease has seen, asks whether the hub is there, and leaves all to the
// reports of the leader once it leads itself.
func TestFollower(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "compute"}
	bare := demand.Owner{Kind: "Pod", Name: "p"}
	for name, tc := range map[string]struct {
		happens func(f *Follower)
		asks    bool
		elected bool
		demand  string
		asked   int64
	}{
		"nothing seen": {demand: "0"},
		"a request is held": {happens: func(f *Follower) {
			f.Demand.Book.Hold(key, bare, nil, amount.List{"pods": 2}, f.Demand.Clock.Now())
		}, demand: "2"},
		"a request was denied": {happens: func(f *Follower) {
			f.Demand.Book.Hold(key, bare, nil, amount.List{"pods": 2}, f.Demand.Clock.Now())
			f.Demand.Book.End(key, bare, amount.List{"pods": 2}, false, f.Demand.Clock.Now())
		}, demand: "2"},
		"a request was held in vain": {asks: true, happens: func(f *Follower) {
			f.Demand.Book.Hold(key, bare, nil, amount.List{"pods": 2}, f.Demand.Clock.Now())
		}, demand: "2", asked: 4},
		"it leads": {elected: true, happens: func(f *Follower) {
			f.Demand.Book.Hold(key, bare, nil, amount.List{"pods": 2}, f.Demand.Clock.Now())
		}, demand: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := quotav1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			share := &quotav1alpha1.QuotaShare{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
				Spec:       quotav1alpha1.QuotaShareSpec{Revision: 1, Hard: podsOnly("5"), Answered: 3},
				Status:     quotav1alpha1.QuotaShareStatus{Revision: 1, Hard: podsOnly("5"), Used: podsOnly("5")},
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(share).WithStatusSubresource(share).Build()
			elected := make(chan struct{})
			if tc.elected {
				close(elected)
			}
			f := &Follower{Elected: elected, Demand: &Demand{
				Client: c, Clock: testingclock.NewFakeClock(time.Unix(1000, 0)), Book: demand.NewBook(),
				Asks: func(types.NamespacedName) bool { return tc.asks },
			}}
			if tc.happens != nil {
				tc.happens(f)
			}
			for range 2 {
				if _, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(share), share); err != nil {
				t.Fatal(err)
			}
			if got := share.Status.Demand[corev1.ResourcePods]; got.String() != tc.demand {
				t.Errorf("the demand is %s, want %s", got.String(), tc.demand)
			}
			if share.Status.Asked != tc.asked {
				t.Errorf("asked %d times, want %d", share.Status.Asked, tc.asked)
			}
		})
	}
}
