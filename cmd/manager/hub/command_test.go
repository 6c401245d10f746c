package hub

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlags names the flag that cannot be acted on, its value, and what would do.
func TestFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"":                               "",
		"--record-months=0":              "",
		"--record-months=-1":             "--record-months -1: must be 0, which writes none, to 120",
		"--record-months=1200":           "--record-months 1200",
		"--record-interval=1ms":          "--record-interval 1ms: must be 1s to 24h0m0s",
		"--record-interval=48h":          "--record-interval 48h0m0s",
		"--concurrency=0":                "--concurrency 0, --clustercache-concurrency 100: must be 1 or more",
		"--clustercache-concurrency=-1":  "--clustercache-concurrency -1: must be 1 or more",
		"--max-node-provision-time=-15m": "--max-node-provision-time -15m0s: must be more than 0",
	} {
		t.Run(flag, func(t *testing.T) {
			o, flags := &options{}, pflag.NewFlagSet("hub", pflag.ContinueOnError)
			o.bind(flags, "")
			if err := flags.Parse(strings.Fields(flag)); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
