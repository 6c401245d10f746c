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
