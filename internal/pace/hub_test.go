package pace_test

import (
	"testing"
	"time"

	"github.com/fedquota/fedquota/internal/pace"
)

// TestRenewals has the Lease of the hub last for three renewals, which are fewer in each of many members.
func TestRenewals(t *testing.T) {
	for clusters, want := range map[int]time.Duration{0: 5 * time.Second, 100: 5 * time.Second, 160: 6 * time.Second, 1000: 20 * time.Second} {
		if interval, duration := pace.RenewInterval(clusters), pace.LeaseDuration(clusters); interval != want || duration != 3*want {
			t.Errorf("over %d clusters it is renewed every %s for %s, want %s", clusters, interval, duration, want)
		}
	}
}

// TestWhatNobodyWaitsFor is put off by how many shares a hub manager has to read for it.
func TestWhatNobodyWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		clusters, budgets int
		beyond            time.Duration
	}{
		"one over a few":        {clusters: 3, budgets: 1},
		"one over many":         {clusters: 100, budgets: 1},
		"many over a few":       {clusters: 25, budgets: 200},
		"one over very many":    {clusters: 1000, budgets: 1, beyond: 45 * time.Second},
		"some over very many":   {clusters: 1000, budgets: 50, beyond: 45 * time.Second},
		"many over many":        {clusters: 100, budgets: 200, beyond: 15 * time.Second},
		"many over very many":   {clusters: 1000, budgets: 200, beyond: 195 * time.Second},
		"one of many over none": {budgets: 200},
	} {
		t.Run(name, func(t *testing.T) {
			for what, got := range map[string]time.Duration{
				"rounds of usage":       pace.UsageDelay(tc.clusters, tc.budgets),
				"snapshots":             pace.SnapshotInterval(tc.clusters, tc.budgets) - 5*time.Second,
				"snapshots in pools":    pace.PooledSnapshotInterval(tc.clusters, tc.budgets) - 500*time.Millisecond,
				"telling":               (pace.RetellInterval(tc.clusters, tc.budgets) - time.Second) / 10,
				"trying again":          pace.RoundRetryInterval(tc.clusters, tc.budgets) - pace.RetryInterval,
				"rounds":                (pace.RoundInterval(tc.clusters, tc.budgets) - 30*time.Second) / 3,
				"looks at whole stores": (pace.WholeLookInterval(tc.clusters, tc.budgets) - time.Minute) / 3,
			} {
				if got != tc.beyond {
					t.Errorf("%s: put off by %s, want %s", what, got, tc.beyond)
				}
			}
		})
	}
}
