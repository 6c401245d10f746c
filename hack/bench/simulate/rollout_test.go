package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/pace"
)

// every returns times that are so far apart, from one on and before another one.
func every(interval, from, to time.Duration) (times []time.Duration) {
	for at := from; at < to; at += interval {
		times = append(times, at)
	}
	return times
}

// TestRollout has a Deployment of 9 replace its pods, in one cluster, while another one wants more than the budget of 12.
// What it gives up for that it gets back. Room of pods that end otherwise goes to who has less than its fair part, before
// and after, and so does that of a workload that lacks pods all the time.
func TestRollout(t *testing.T) {
	const grace, ready, rollout = 2 * time.Second, 5 * time.Second, 2 * time.Minute
	for name, tc := range map[string]struct {
		rollouts, deletions []time.Duration
		scales              []Scale
		grace               time.Duration
		at                  time.Duration
		want                []int64
	}{
		"no rollout":                 {at: 5 * time.Minute, want: []int64{9, 3}},
		"one rollout":                {rollouts: []time.Duration{rollout}, at: 5 * time.Minute, want: []int64{9, 3}},
		"two on top of each other":   {rollouts: []time.Duration{rollout, rollout + 10*time.Second}, at: 5 * time.Minute, want: []int64{9, 3}},
		"one a minute":               {rollouts: every(time.Minute, rollout, 20*time.Minute), at: 20 * time.Minute, want: []int64{9, 3}},
		"pods that end slowly":       {rollouts: []time.Duration{rollout}, grace: 33 * time.Second, at: 10 * time.Minute, want: []int64{9, 3}},
		"scaled down":                {scales: []Scale{{rollout, 6}}, at: 5 * time.Minute, want: []int64{6, 6}},
		"scaled down within":         {rollouts: []time.Duration{rollout}, scales: []Scale{{rollout + 3*time.Second, 6}}, at: 5 * time.Minute, want: []int64{6, 6}},
		"pods that somebody deletes": {deletions: every(10*time.Second, rollout, 5*time.Minute), at: 5 * time.Minute, want: []int64{6, 6}},
		"deleted after a rollout": {
			rollouts: []time.Duration{rollout}, deletions: every(10*time.Second, rollout+time.Minute, 8*time.Minute), at: 8 * time.Minute, want: []int64{6, 6},
		},
		"without end, for a while": {
			rollouts: every(20*time.Second, rollout, time.Hour), grace: 33 * time.Second, at: rollout + 10*time.Minute, want: []int64{9, 3},
		},
		"without end": { // a quarter at most is missing: the others are never ended
			rollouts: every(20*time.Second, rollout, time.Hour), grace: 33 * time.Second, at: 40 * time.Minute, want: []int64{7, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deployment{
				At: time.Second, Pods: 9, Rollouts: tc.rollouts, Scales: tc.scales, Deletions: tc.deletions, Grace: max(grace, tc.grace), Ready: ready,
			}
			load := Load{
				Members:     2,
				Levels:      []Level{{At: time.Second, Member: 1, Wants: 3}, {At: time.Minute, Member: 1, Wants: 20}},
				Deployments: []Deployment{d},
			}
			got := Run(load, Setup{Policy: demanding(pace.Hold), Latencies: Default, Budget: 12, To: tc.at})
			if diff := cmp.Diff(tc.want, got.Used); diff != "" || got.Over > 0 {
				t.Errorf("over %d, used (-want +got):\n%s", got.Over, diff)
			}
		})
	}
}
