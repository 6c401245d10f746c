package hub

import (
	"strings"
	"testing"
	"time"

	"github.com/fedquota/fedquota/controllers/hub/members"
)

// TestRecordFlags names the flag that cannot be acted on, its value, and what would do.
func TestRecordFlags(t *testing.T) {
	for name, c := range map[string]struct {
		months   int
		interval time.Duration
		want     string
	}{
		"defaults":    {13, time.Hour, ""},
		"none":        {0, time.Hour, ""},
		"less":        {-1, time.Hour, "--record-months -1: must be 0, which writes none, to 120"},
		"centuries":   {1200, time.Hour, "--record-months 1200"},
		"all at once": {13, time.Millisecond, "--record-interval 1ms: must be 1s to 24h0m0s"},
		"seldom":      {13, 48 * time.Hour, "--record-interval 48h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &options{clusters: members.Namespaces{Home: "default"}, recordMonths: c.months, recordInterval: c.interval}
			err := o.validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
