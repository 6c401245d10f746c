package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// TestInterrupt sees that a demo that is interrupted leaves no process behind, wherever it was.
func TestInterrupt(t *testing.T) {
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds the control planes", fleet.AssetsVariable)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "manager")); err != nil {
		t.Skip("bin/manager is not built: run `make build`")
	}
	log.SetLogger(logr.Discard())
	for name, step := range map[string]string{
		"while control planes start": "hub: ready",
		"while managers start":       "agent-west: starting",
		"in an act":                  "act 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testInterrupt(t, root, step)
		})
	}
}

// testInterrupt interrupts a demo at a step.
func testInterrupt(t *testing.T, root, step string) {
	ctx, interrupt := context.WithCancel(t.Context())
	reached := false
	d := demo{root: root, dir: t.TempDir(), say: func(said string) {
		t.Log(said)
		if strings.HasPrefix(said, step) {
			reached = true
			interrupt()
		}
	}}
	t.Cleanup(func() {
		if _, err := fleet.Down(context.Background(), d.fleet()); err != nil {
			t.Error(err)
		}
	})
	if err := d.up(ctx); !errors.Is(err, errInterrupted) {
		t.Errorf("got %v, want %v", err, errInterrupted)
	}
	if !reached {
		t.Errorf("the demo has not said %q", step)
	}
	if left := working(t, d.dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// working returns the ids of the processes that work in a folder.
func working(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, link := range links {
		if folder, err := os.Readlink(link); err == nil && strings.HasPrefix(folder, dir) {
			ids = append(ids, filepath.Base(filepath.Dir(link)))
		}
	}
	return ids
}
