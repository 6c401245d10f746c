package simulate

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/pace"
)

// erlangB is the part of the requests that a loss system of so many places refuses, at an offered load in places.
func erlangB(places int64, offered float64) float64 {
	blocked := 1.0
	for n := int64(1); n <= places; n++ {
		blocked = offered * blocked / (float64(n) + offered*blocked)
	}
	return blocked
}

// poisson draws requests for one place each, at an offered load in places, with lives of a minute on average.
func poisson(n int, offered float64, member int, seed int64) []Request {
	random := rand.New(rand.NewSource(seed))
	const life = float64(time.Minute)
	var at float64
	requests := make([]Request, n)
	for i := range requests {
		at += random.ExpFloat64() * life / offered
		requests[i] = Request{
			At: time.Duration(at), Member: member, Size: 1, Life: time.Duration(random.ExpFloat64() * life),
		}
	}
	return requests
}

// TestErlangB compares a single pool with what is known of it.
func TestErlangB(t *testing.T) {
	const n, offered, places = 200_000, 20.0, 18
	requests := poisson(n, offered, 0, 1)
	for name, policy := range map[string]Policy{"pooled": {Pooled: true}, "static": {Static: true}} {
		got := Run(Load{Members: 1, Requests: requests}, Setup{
			Policy: policy, Latencies: Default, Budget: places, From: 10 * time.Minute, To: requests[n-1].At,
		})
		admitted, want := float64(got.Admitted)/float64(got.Requests), 1-erlangB(places, offered)
		if math.Abs(admitted/want-1) > .006 {
			t.Errorf("%s: admitted %.5f, want %.5f within 0.6 %%", name, admitted, want)
		}
		if got.FalseDenials > 0 || got.Over > 0 {
			t.Errorf("%s: %d false denials, %d over", name, got.FalseDenials, got.Over)
		}
	}
}

// TestPatience has a request come 90 ms before there is room for it. It is made again after 5, 15, 35, 75 and 155 ms.
func TestPatience(t *testing.T) {
	load := Load{Members: 1, Requests: []Request{
		{At: time.Second, Size: 1, Life: 100 * time.Millisecond}, {At: 1010 * time.Millisecond, Size: 1, Life: time.Second},
	}}
	for patience, want := range map[time.Duration]map[time.Duration]int{
		0:                      {0: 1, time.Second: 1},
		154 * time.Millisecond: {0: 1, time.Second: 1},
		155 * time.Millisecond: {0: 1, 154 * time.Millisecond: 1, 155 * time.Millisecond: 2},
	} {
		got := Run(load, Setup{
			Policy: Policy{Pooled: true}, Latencies: Default, Budget: 1, Patience: patience, To: 10 * time.Second,
		})
		for within, count := range want {
			if admitted := got.Within(within); admitted != count {
				t.Errorf("with a patience of %s %d are admitted within %s, want %d", patience, admitted, within, count)
			}
		}
		if got.Requests != 2 {
			t.Errorf("with a patience of %s %d requests count", patience, got.Requests)
		}
	}
}

// demanding is the policy of the product.
func demanding(hold time.Duration) Policy {
	return Policy{
		Every: 5 * time.Second, Events: true, Hold: hold, Respites: pace.Respites(), Damp: pace.Damping,
		Options: pace.Options(true),
	}
}

// TestWaitOfHeldRequests follows one request on a fleet of two: out of the hub's reserve, and with a donor in between.
func TestWaitOfHeldRequests(t *testing.T) {
	cases := map[string]struct {
		size int64
		want time.Duration
	}{
		"it fits":        {size: 30, want: 0},
		"out of reserve": {size: 50, want: 95 * time.Millisecond},
		"with a donor":   {size: 90, want: 145 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			load := Load{Members: 2, Requests: []Request{{At: 61 * time.Second, Size: tc.size, Life: time.Second}}}
			setup := Setup{Policy: demanding(time.Second), Latencies: Default, Budget: 100, To: 90 * time.Second}
			got := Run(load, setup)
			var want []time.Duration
			if tc.want > 0 {
				want = []time.Duration{tc.want}
			}
			if diff := cmp.Diff(want, got.Waits); diff != "" || got.Admitted != 1 {
				t.Errorf("admitted %d, waits (-want +got):\n%s", got.Admitted, diff)
			}
			setup.Policy.Hold = 0
			if got := Run(load, setup); got.Admitted == 1 != (tc.want == 0) || got.FalseDenials == 1 != (tc.want > 0) {
				t.Errorf("without waiting: %+v", got)
			}
			setup.Policy.Hold = tc.want - time.Millisecond
			if got := Run(load, setup); tc.want > 0 && got.Admitted > 0 {
				t.Errorf("admitted, although the request waited only %s", setup.Policy.Hold)
			}
		})
	}
}

// TestWaitOfHeldRequestsInATree follows one request in two teams of two budgets each over one member: out of what its
// pools have left, and with a donor in the other team.
func TestWaitOfHeldRequestsInATree(t *testing.T) {
	for name, tc := range map[string]struct {
		size int64
		want time.Duration
	}{
		"its budget has room":       {size: 14, want: 95 * time.Millisecond},
		"its pool has room":         {size: 20, want: 105 * time.Millisecond},
		"its root has room":         {size: 40, want: 115 * time.Millisecond},
		"the other budget gives":    {size: 30, want: 145 * time.Millisecond},
		"all but the pool is taken": {size: 90, want: 275 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			load := Load{Members: 4, Requests: []Request{{At: 61 * time.Second, Size: tc.size, Life: time.Second}}}
			policy := demanding(time.Second)
			policy.Tree = []int{2, 2}
			got := Run(load, Setup{Policy: policy, Latencies: Default, Budget: 100, To: 90 * time.Second})
			if diff := cmp.Diff([]time.Duration{tc.want}, got.Waits); diff != "" || got.Admitted != 1 || got.Over > 0 {
				t.Errorf("admitted %d, over %d, waits (-want +got):\n%s", got.Admitted, got.Over, diff)
			}
		})
	}
}

// TestNeverOver plays an overload in which every request moves limits.
func TestNeverOver(t *testing.T) {
	load := Load{Members: 4}
	for i := range load.Members {
		load.Requests = append(load.Requests, poisson(4000, 10, i, int64(i))...)
	}
	sortByTime(load.Requests)
	for _, tree := range [][]int{nil, {2}, {2, 2}} {
		policy := demanding(500 * time.Millisecond)
		policy.Tree = tree
		got := Run(load, Setup{Policy: policy, Latencies: Default, Budget: 30, To: time.Hour})
		if got.Over > 0 || got.Writes < 500 || got.Requests == got.Admitted {
			t.Errorf("tree %v: over %d, %d writes, admitted %d of %d", tree, got.Over, got.Writes, got.Admitted, got.Requests)
		}
	}
}

// TestLevels follows demand that is there until it is served: 40 of 100 fit the static half, 90 do not.
func TestLevels(t *testing.T) {
	load := Load{Members: 2, Levels: []Level{
		{At: 60 * time.Second, Member: 0, Wants: 90},
		{At: 60 * time.Second, Member: 1, Wants: 10},
		{At: 160 * time.Second, Member: 0, Wants: 40},
	}}
	setup := Setup{Policy: Policy{Static: true}, Latencies: Default, Budget: 100, To: 260 * time.Second}
	got := Run(load, setup)
	if want := 40.0 * 100; got.Pending != want || got.Wanted != 90*100+40*100+10*200 {
		t.Errorf("static: pending %v of %v, want %v", got.Pending, got.Wanted, want)
	}
	setup.Policy.Pooled = true
	if got := Run(load, setup); got.Pending != 0 {
		t.Errorf("pooled: pending %v", got.Pending)
	}
	setup.Policy = demanding(0)
	// It lacks 53 above its half of what the hub does not keep, until the donor has confirmed.
	if got := Run(load, setup); got.Pending <= 0 || got.Pending > 53*.145 || got.Over > 0 {
		t.Errorf("by demand: pending %v, over %d", got.Pending, got.Over)
	}
}

// TestSteady checks that nothing is written once demand stays as it is, whether it fits or not.
func TestSteady(t *testing.T) {
	for _, tree := range [][]int{nil, {2}} {
		for _, wants := range []int64{10, 40, 70} {
			load := Load{Members: 2, Levels: []Level{{Member: 0, Wants: wants}, {Member: 1, Wants: 45}}}
			policy := demanding(0)
			policy.Tree = tree
			got := Run(load, Setup{
				Policy: policy, Latencies: Default, Budget: 100, From: 3 * time.Minute, To: 10 * time.Minute,
			})
			if got.Writes > 0 || got.Rounds < 80 {
				t.Errorf("tree %v, wants %d: %d writes in %d rounds", tree, wants, got.Writes, got.Rounds)
			}
		}
	}
}

// TestTreesAreCalm draws demand that does not change, below and above the budget, for trees of one, two and three
// levels: once it has come to rest, nothing moves between siblings, however soon it may.
func TestTreesAreCalm(t *testing.T) {
	for _, damp := range []time.Duration{pace.HoldDamping, pace.Damping} {
		random := rand.New(rand.NewSource(4))
		for n := range 60 {
			policy := demanding(0)
			policy.Damp = damp
			policy.Tree = [][]int{{3}, {2, 3}, nil}[n%3]
			load := Load{Members: 12}
			for i := range load.Members {
				load.Levels = append(load.Levels, Level{Member: i, Wants: random.Int63n(200)})
			}
			got := Run(load, Setup{
				Policy: policy, Latencies: Default, Budget: 1000, From: 5 * time.Minute, To: 15 * time.Minute,
			})
			if got.Writes > 0 || got.Over > 0 {
				t.Errorf("damped for %s, draw %d, tree %v: %d limits moved under constant demand, %d over",
					damp, n, policy.Tree, got.Writes, got.Over)
			}
		}
	}
}

// TestFollowDown checks that a lowering below usage is followed as usage falls, and that the donor's room is used with
// the next round.
func TestFollowDown(t *testing.T) {
	load := Load{Members: 2, Levels: []Level{
		{At: 10 * time.Second, Member: 0, Wants: 100},
		{At: 60 * time.Second, Member: 1, Wants: 50},
		{At: 120 * time.Second, Member: 0, Wants: 50},
	}}
	got := Run(load, Setup{
		Policy: demanding(0), Latencies: Default, Budget: 100, From: 60 * time.Second, To: 180 * time.Second,
	})
	if least := 50.0 * 60; got.Pending <= least || got.Pending > least+50*(5+.2) || got.Over > 0 {
		t.Errorf("pending %v, want a little more than %v; over %d", got.Pending, least, got.Over)
	}
}
