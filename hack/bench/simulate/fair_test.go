package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/pace"
)

// TestWhoAsksNowAndThen has a Deployment use all of the budget and want more, of which a pod is deleted every 5 s, while
// single pods are asked for in another cluster now and then. These come to have its fair part, one by one, and the
// Deployment the rest. Who stops asking leaves no room unused for longer than it takes to be overdue.
func TestWhoAsksNowAndThen(t *testing.T) {
	const start, life = time.Minute, time.Hour
	for name, tc := range map[string]struct {
		members int
		askers  []time.Duration // how often each asks in the second cluster
		stop    time.Duration   // when they stop, if they do
		at      time.Duration   // when it is looked
		want    []int64
	}{
		"every 30 s":                  {askers: []time.Duration{30 * time.Second}, at: 5 * time.Minute, want: []int64{6, 6}},
		"every 5 s":                   {askers: []time.Duration{5 * time.Second}, at: 2 * time.Minute, want: []int64{6, 6}},
		"every 2 minutes":             {askers: []time.Duration{2 * time.Minute}, at: 20 * time.Minute, want: []int64{6, 6}},
		"two who ask":                 {askers: []time.Duration{30 * time.Second, 45 * time.Second}, at: 5 * time.Minute, want: []int64{6, 6}},
		"beside an idle cluster":      {members: 1, askers: []time.Duration{30 * time.Second}, at: 5 * time.Minute, want: []int64{6, 6, 0}},
		"who is waited for":           {askers: []time.Duration{30 * time.Second}, stop: 135 * time.Second, at: 160 * time.Second, want: []int64{9, 2}},
		"who is overdue":              {askers: []time.Duration{30 * time.Second}, stop: 135 * time.Second, at: 175 * time.Second, want: []int64{10, 2}},
		"who asks for the first time": {askers: []time.Duration{time.Hour}, at: 5 * time.Minute, want: []int64{12, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			load := Load{Members: 2 + tc.members, Levels: []Level{{At: time.Second, Member: 0, Wants: 30}}}
			for at := start; at < start+tc.at; at += 5 * time.Second {
				load.Endings = append(load.Endings, Ending{At: at, Member: 0, Size: 1})
			}
			for i, every := range tc.askers {
				for at := start + time.Duration(i)*7*time.Second; at < start+tc.at && (tc.stop == 0 || at < start+tc.stop); at += every {
					load.Requests = append(load.Requests, Request{At: at, Member: 1, Size: 1, Life: life})
				}
			}
			sortByTime(load.Requests)
			got := Run(load, Setup{Policy: demanding(pace.Hold), Latencies: Default, Budget: 12, To: start + tc.at})
			if diff := cmp.Diff(tc.want, got.Used); diff != "" || got.Over > 0 {
				t.Errorf("over %d, used (-want +got):\n%s", got.Over, diff)
			}
		})
	}
}
