package demand

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestEarlyRequestsAreLookedAt has a request wait before any controller has started.
func TestEarlyRequestsAreLookedAt(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "compute"}
	d := &Demand{Book: demand.NewBook()}
	d.Book.Hold(key, demand.Owner{Kind: "Pod", Name: "p"}, nil, amount.List{"pods": 2}, time.Unix(1000, 0))
	d.Report(key)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	if err := d.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 1 {
		t.Fatalf("%d shares are looked at, want 1", queue.Len())
	}
	if got, _ := queue.Get(); got.NamespacedName != key {
		t.Errorf("got %s", got)
	}
}

// fakeReplicas are a replica with the lease and one without, and the share that both see.
type fakeReplicas struct {
	t        *testing.T
	clock    *testingclock.FakeClock
	api      client.Client
	leader   *Demand
	follower *Follower
	writes   int
}

var (
	replicasKey = types.NamespacedName{Namespace: "team", Name: "compute"}
	bare        = demand.Owner{Kind: "Pod", Name: "p"}
)

func newReplicas(t *testing.T) *fakeReplicas {
	t.Helper()
	share := &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: replicasKey.Namespace, Name: replicasKey.Name},
		Spec:       quotav1alpha1.QuotaShareSpec{Revision: 1, Hard: podsOnly("5"), Pong: 3},
		Status:     quotav1alpha1.QuotaShareStatus{Revision: 1, Hard: podsOnly("5"), Used: podsOnly("5")},
	}
	r := &fakeReplicas{t: t, clock: testingclock.NewFakeClock(time.Unix(1000, 0))}
	r.api = fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(share).WithStatusSubresource(share).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			r.writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}}).Build()
	r.leader = &Demand{Client: r.api, Clock: r.clock, Book: demand.NewBook(), Replica: "leader"}
	r.follower = &Follower{Elected: make(chan struct{}), Demand: &Demand{Client: r.api, Clock: r.clock, Book: demand.NewBook(), Replica: "follower"}}
	return r
}

func (r *fakeReplicas) share() *quotav1alpha1.QuotaShare {
	r.t.Helper()
	share := &quotav1alpha1.QuotaShare{}
	if err := r.api.Get(r.t.Context(), replicasKey, share); err != nil {
		r.t.Fatal(err)
	}
	return share
}

// follow has the replica without the lease look at the share after a while.
func (r *fakeReplicas) follow(after time.Duration) ctrl.Result {
	r.t.Helper()
	r.clock.Step(after)
	result, err := r.follower.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: replicasKey})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// demand returns what the replica with the lease reports.
func (r *fakeReplicas) demand() string {
	r.t.Helper()
	pods := r.leader.See(r.share()).Total["pods"]
	return pods.String()
}

func (r *fakeReplicas) want(pods string) {
	r.t.Helper()
	if got := r.demand(); got != pods {
		r.t.Errorf("the demand is %s, want %s", got, pods)
	}
}

func (r *fakeReplicas) hold(at *Demand, owner demand.Owner, pods int64) {
	at.Book.Hold(replicasKey, owner, nil, amount.List{"pods": pods}, r.clock.Now())
}

func (r *fakeReplicas) end(at *Demand, owner demand.Owner, pods int64, fits bool) {
	at.Book.End(replicasKey, owner, amount.List{"pods": pods}, fits, r.clock.Now())
}

// TestDemandOfReplicas has requests come to either of two replicas: what different owners ask for is added up, and what
// one asks for counts once.
func TestDemandOfReplicas(t *testing.T) {
	other := demand.Owner{Kind: "Pod", Name: "q"}
	job := demand.Owner{Kind: "Job", Name: "job", UID: "job"}
	for name, tc := range map[string]struct {
		happens func(r *fakeReplicas, leader, follower *Demand)
		want    string
	}{
		"nothing":            {happens: func(*fakeReplicas, *Demand, *Demand) {}, want: "0"},
		"one at the leader":  {happens: func(r *fakeReplicas, leader, _ *Demand) { r.hold(leader, bare, 2) }, want: "2"},
		"one at the other":   {happens: func(r *fakeReplicas, _, follower *Demand) { r.hold(follower, bare, 2) }, want: "2"},
		"one denied there":   {happens: func(r *fakeReplicas, _, follower *Demand) { r.hold(follower, bare, 2); r.end(follower, bare, 2, false) }, want: "2"},
		"one admitted there": {happens: func(r *fakeReplicas, _, follower *Demand) { r.hold(follower, bare, 2); r.end(follower, bare, 2, true) }, want: "0"},
		"two at once, one at each": {happens: func(r *fakeReplicas, leader, follower *Demand) {
			r.hold(leader, bare, 3)
			r.hold(follower, other, 2)
		}, want: "5"},
		"one denied at one, and tried again at the other": {happens: func(r *fakeReplicas, leader, follower *Demand) {
			r.hold(leader, bare, 3)
			r.end(leader, bare, 3, false)
			r.hold(follower, bare, 3)
		}, want: "3"},
		"a workload that both know, asking at both": {happens: func(r *fakeReplicas, leader, follower *Demand) {
			for _, d := range []*Demand{leader, follower} {
				d.Book.SetWorkload(demand.Workload{Owner: job, Namespace: "team", Desired: 4}, r.clock.Now())
				r.hold(d, job, 1)
			}
		}, want: "4"},
		"many at each": {happens: func(r *fakeReplicas, leader, follower *Demand) {
			for i := range 50 {
				r.hold(leader, demand.Owner{Kind: "Pod", Name: fmt.Sprintf("l%d", i)}, 1)
				r.hold(follower, demand.Owner{Kind: "Pod", Name: fmt.Sprintf("f%d", i)}, 1)
			}
		}, want: "100"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplicas(t)
			tc.happens(r, r.leader, r.follower.Demand)
			r.follow(0)
			r.want(tc.want)
			if owners := r.share().Status.DemandByReplica["follower"].Owners; len(owners) > 32 {
				t.Errorf("%d owners are told apart", len(owners))
			}
		})
	}
}

// TestStatements follows what a replica without the lease states: more at once, less when it is due, the same now and
// then, and nothing of what it has withdrawn. When it is gone, it counts for as long as a request does.
func TestStatements(t *testing.T) {
	r := newReplicas(t)
	follower := r.follower.Demand
	wantWrites := func(when string, want int) {
		t.Helper()
		if r.writes != want {
			t.Errorf("%d writes %s, want %d", r.writes, when, want)
		}
	}
	r.hold(follower, bare, 2)
	r.follow(0)
	wantWrites("of a request", 1)
	other := demand.Owner{Kind: "Pod", Name: "q"}
	r.hold(follower, other, 1)
	if wait := r.follow(0).RequeueAfter; wait != pace.UrgentReportInterval {
		t.Errorf("the next statement is due after %s", wait)
	}
	wantWrites("of another one, at the same moment", 1)
	r.follow(pace.UrgentReportInterval)
	wantWrites("of both", 2)
	r.want("3")
	r.end(follower, other, 1, true)
	r.follow(pace.UrgentReportInterval)
	wantWrites("of less, soon", 2)
	r.follow(pace.ReportInterval)
	wantWrites("of less", 3)
	r.want("2")
	r.follow(pace.ReportInterval)
	wantWrites("of the same, soon", 3)
	r.follow(renewInterval)
	wantWrites("of the same", 4)
	r.want("2")
	r.clock.Step(pace.Memory - 1)
	r.want("2")
	r.clock.Step(1)
	r.want("0")
	r.follow(0)
	r.want("2") // it was not gone
	r.end(follower, bare, 2, true)
	r.follow(pace.UrgentReportInterval)
	r.want("0")
	if requested := r.share().Status.DemandByReplica; len(requested) > 0 {
		t.Errorf("stated still: %v", requested)
	}
	r.follow(agingInterval)
	wantWrites("at last", 6)
	r.hold(follower, bare, 2)
	r.follow(0)
	r.follower.Demand.Book = demand.NewBook()
	if stated := r.follower.Demand.others(r.share()); len(stated) > 0 {
		t.Errorf("a replica counts what itself has stated before: %v", stated)
	}
}

// TestFollowerAsks has a replica without the lease ask whether the hub is there, and leave all to the reports of the
// leader once it leads itself.
func TestFollowerAsks(t *testing.T) {
	for name, tc := range map[string]struct {
		asks, elected bool
		asked         int64
		states        bool
	}{
		"a request is held":          {states: true},
		"a request was held in vain": {asks: true, asked: 4, states: true},
		"it leads":                   {asks: true, elected: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplicas(t)
			r.follower.Demand.Pings = func(types.NamespacedName) bool { return tc.asks }
			if tc.elected {
				elected := make(chan struct{})
				close(elected)
				r.follower.Elected = elected
			}
			r.hold(r.follower.Demand, bare, 2)
			r.follow(0)
			status := r.share().Status
			if status.Ping != tc.asked || len(status.DemandByReplica) > 0 != tc.states {
				t.Errorf("asked %d times, states %v", status.Ping, status.DemandByReplica)
			}
		})
	}
}

// TestStatementsWakeTheLeader has the leader look at a share when another replica states something, and not at its own
// reports.
func TestStatementsWakeTheLeader(t *testing.T) {
	before, reported, stated := &quotav1alpha1.QuotaShare{}, &quotav1alpha1.QuotaShare{}, &quotav1alpha1.QuotaShare{}
	reported.Status.Demand = podsOnly("2")
	stated.Status.DemandByReplica = map[string]quotav1alpha1.ReplicaDemand{"other": {}}
	for name, tc := range map[string]struct {
		after *quotav1alpha1.QuotaShare
		want  bool
	}{"a report": {reported, false}, "a statement": {stated, true}} {
		if got := StatementsChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
