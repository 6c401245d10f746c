package simulate

import (
	"testing"
	"time"
)

// TestSmallBesideLarge has two clusters ask for large requests for ever, of which what is free holds none, and a third
// for small ones again and again, of which it holds many: these are all admitted once respites are over.
func TestSmallBesideLarge(t *testing.T) {
	const end = 5 * time.Minute
	for name, tree := range map[string][]int{"one budget": nil, "two budgets in a pool": {2}} {
		t.Run(name, func(t *testing.T) {
			load := Load{Members: 4}
			for range 15 {
				load.Requests = append(load.Requests, Request{At: 10 * time.Second, Member: 0, Size: 10, Life: time.Hour})
			}
			for at := 30 * time.Second; at < end; at += time.Second {
				for member := 2; member < 4; member++ {
					load.Requests = append(load.Requests, Request{At: at, Member: member, Size: 10, Life: time.Hour})
				}
			}
			for at := 15 * time.Second; at < end; at += 300 * time.Millisecond {
				load.Requests = append(load.Requests, Request{At: at, Member: 1, Size: 1, Life: 50 * time.Millisecond})
			}
			sortByTime(load.Requests)
			policy := demanding(5 * time.Second)
			policy.Tree = tree
			got := Run(load, Setup{Policy: policy, Latencies: Default, Budget: 218, From: 150 * time.Second, To: end})
			if got.FalseDenials > 0 || got.Admitted == 0 || got.Over > 0 {
				t.Errorf("%d were refused that fit, %d were admitted, over %d, used %v", got.FalseDenials, got.Admitted, got.Over, got.Used)
			}
		})
	}
}
