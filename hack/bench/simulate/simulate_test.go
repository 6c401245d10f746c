package simulate

import (
	"math/rand"
	"testing"
	"time"
)

// erlangB is the part of the requests that a loss system of so many places refuses, at an offered load in places.
func erlangB(places int, offered float64) float64 {
	blocked := 1.0
	for n := 1; n <= places; n++ {
		blocked = offered * blocked / (float64(n) + offered*blocked)
	}
	return blocked
}

// poisson draws requests for one place each.
func poisson(n int, offered float64, seed int64) []Request {
	random := rand.New(rand.NewSource(seed))
	const life = float64(time.Minute)
	var at float64
	requests := make([]Request, n)
	for i := range requests {
		at += random.ExpFloat64() * life / offered
		requests[i] = Request{At: time.Duration(at), Size: 1, Life: time.Duration(random.ExpFloat64() * life)}
	}
	return requests
}

func TestErlangB(t *testing.T) {
	const n, offered = 2_000_000, 20.0
	requests := poisson(n, offered, 1)
	for places, policy := range map[int64]Policy{18: {Pooled: true}, 20: {Static: true}} {
		start := time.Now()
		got := Run(Load{Members: 1, Requests: requests}, Setup{
			Policy: policy, Latencies: Default, Budget: places, From: 10 * time.Minute, To: requests[n-1].At,
		})
		want := erlangB(int(places), offered)
		blocked := 1 - float64(got.Admitted)/float64(got.Requests)
		t.Log(places, blocked, want, blocked/want-1, got.Rounds, got.Over, got.Requests, time.Since(start))
	}
}
