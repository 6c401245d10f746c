// Package systemtest starts fedquota on a fleet for as long as a test runs.
package systemtest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// logged is how many lines of a manager's log are shown when a test fails.
const logged = 60

// Start starts fedquota on a fleet until the test ends, and skips the test where the programs are not built that this
// takes. Root defaults to that of the project, and the folder of the fleet to one that goes with the test. If the test
// fails, it shows how the logs of the managers end.
func Start(t *testing.T, options system.Options) *system.System {
	t.Helper()
	options.Root = cmp.Or(options.Root, Root(t))
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: make sets it, to the folder with the programs of the control plane", fleet.AssetsVariable)
	}
	if _, err := os.Stat(filepath.Join(options.Root, "bin", "manager")); err != nil {
		t.Skip("bin/manager is not built: run `make build`")
	}
	options.Fleet.Dir = cmp.Or(options.Fleet.Dir, t.TempDir())
	options.Fleet.Progress = func(step string) { t.Log(step) }
	s, err := system.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, s)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Root is the folder of the project that the test is of.
func Root(t *testing.T) string {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func showLogs(t *testing.T, s *system.System) {
	t.Helper()
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		for _, m := range s.Managers(c) {
			log, err := os.ReadFile(m.LogPath)
			if err != nil {
				t.Error(err)
			}
			lines := strings.Split(string(log), "\n")
			t.Logf("%s:\n%s", m.Name, strings.Join(lines[max(0, len(lines)-logged):], "\n"))
		}
	}
}
