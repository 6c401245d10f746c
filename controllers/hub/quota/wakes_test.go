package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
)

func TestUsageAlone(t *testing.T) {
	tests := map[string]struct {
		change func(share *quotav1alpha1.QuotaShare)
		want   bool
	}{
		"more is used":                  {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Used["pods"] = resource.MustParse("6") }, want: true},
		"less is used":                  {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Used["pods"] = resource.MustParse("4") }, want: true},
		"a name is counted":             {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Used["services"] = resource.MustParse("0") }},
		"a name is counted no more":     {change: func(s *quotav1alpha1.QuotaShare) { delete(s.Status.Used, "pods") }},
		"a limit is in force":           {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Hard["pods"] = resource.MustParse("40") }},
		"a request asks":                {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Demand = list("pods", "1") }},
		"the agent acted on a revision": {change: func(s *quotav1alpha1.QuotaShare) { s.Status.ObservedGeneration++ }},
		"a condition":                   {change: func(s *quotav1alpha1.QuotaShare) { s.Status.Conditions[0].Status = "False" }},
		"somebody else's limit":         {change: func(s *quotav1alpha1.QuotaShare) { s.Spec.Hard["pods"] = resource.MustParse("51") }},
		"an annotation":                 {change: func(s *quotav1alpha1.QuotaShare) { s.Annotations["a"] = "b" }},
		"it is being deleted":           {change: func(s *quotav1alpha1.QuotaShare) { s.DeletionTimestamp = new(s.CreationTimestamp) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var packed [2]*quotav1alpha1.QuotaShare
			for i := range packed {
				share := settledShare()
				share.ResourceVersion = fmt.Sprint(i)
				if i == 1 {
					tt.change(share)
				}
				object, err := pack.Share(share)
				if err != nil {
					t.Fatal(err)
				}
				packed[i] = object.(*quotav1alpha1.QuotaShare)
			}
			if got := usageAlone(packed[0], packed[1]); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// TestWhatMembersHoldStartsNoRoundBeforeTheFirst has the hub connect to members before a round was made, and after.
func TestWhatMembersHoldStartsNoRoundBeforeTheFirst(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	share := settledShare()
	share.Namespace, share.Name = w.quota().Namespace, quotaName
	woken := func(initial bool) (number int) {
		w.hub.reported().Create(t.Context(), event.CreateEvent{Object: share, IsInInitialList: initial}, queue)
		for range queue.Len() {
			request, _ := queue.Get()
			queue.Done(request)
			number++
		}
		if slices.Contains(w.hub.concerned(t.Context(), nil), w.request(quotaName)) { // other tests have left some, too
			number++
		}
		return number
	}
	if got := woken(true); got > 0 {
		t.Errorf("before the first round %d are woken by what was there", got)
	}
	if got := woken(false); got != 1 {
		t.Errorf("before the first round %d are woken by a new share, want 1", got)
	}
	if _, err := w.hub.onceHeard(t.Context(), w.request(quotaName)); err != nil {
		t.Fatal(err)
	}
	if got := woken(true); got != 2 {
		t.Errorf("afterwards %d are woken by what was there and by a connection, want 2", got)
	}
}

// TestReportsOfUsageMayWait has clusters report other usage: a small budget has a round at once, a large one a while
// later, unless a cluster waits for room.
func TestReportsOfUsageMayWait(t *testing.T) {
	for name, tt := range map[string]struct {
		clusters int
		waiting  bool
		want     time.Duration
	}{"small": {clusters: 100}, "large": {clusters: 300, want: 10 * time.Second}, "large, a cluster waits": {clusters: 300, waiting: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east")
			w.create(quotaName, weighted)
			fq := w.quota()
			for i := range tt.clusters {
				fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{
					Name: quotav1alpha1.ClusterName(fmt.Sprintf("cluster-%03d", i)), State: quotav1alpha1.ClusterSettled,
				})
			}
			w.must(servers[hubName].Status().Update(t.Context(), fq))
			before, after := settledShare(), settledShare()
			for _, share := range []*quotav1alpha1.QuotaShare{before, after} {
				share.Namespace, share.Name = fq.Namespace, fq.Name
			}
			after.Status.Used["pods"] = resource.MustParse("6")
			w.hub.memories.of(fq.UID).waiting.Store(tt.waiting)
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request](),
				workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{Clock: clock})
			defer queue.ShutDown()
			w.hub.reported().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, queue)
			if tt.want > 0 {
				if queue.Len() > 0 {
					t.Error("the round is made at once")
				}
				clock.Step(tt.want)
			}
			if request, _ := queue.Get(); request.Name != fq.Name {
				t.Errorf("a round over %v", request)
			}
		})
	}
}

// settledShare is a share whose limits are in force.
func settledShare() *quotav1alpha1.QuotaShare {
	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: quotaName, UID: "uid", Generation: 3, CreationTimestamp: metav1.Unix(1, 0), Annotations: map[string]string{},
	}}
	share.Spec.Revision, share.Spec.Hard = 7, list("pods", "50")
	share.Status.ObservedGeneration, share.Status.Revision = 3, 7
	share.Status.Hard, share.Status.Used = list("pods", "50"), list("pods", "5")
	share.Status.Conditions = []metav1.Condition{{Type: quotav1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "InForce"}}
	return share
}
