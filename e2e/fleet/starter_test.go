package fleet_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fedquota/fedquota/e2e/fleet"
)

const (
	starterDir    = "FLEET_TEST_STARTER_DIR"
	starterDetach = "FLEET_TEST_STARTER_DETACH"
)

// TestMain lets the test binary be the process that starts a fleet, too.
func TestMain(m *testing.M) {
	if dir := os.Getenv(starterDir); dir != "" {
		beStarter(dir)
		return
	}
	os.Exit(m.Run())
}

// beStarter starts a fleet, says so, and ends when its input does.
func beStarter(dir string) {
	_, err := fleet.Start(context.Background(), fleet.Options{Dir: dir, Detach: os.Getenv(starterDetach) != ""})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// starter is another process that starts a fleet.
type starter struct {
	cmd    *exec.Cmd
	input  io.Closer
	output io.Reader
}

// runStarter runs another process that starts a fleet.
func runStarter(t *testing.T, dir string, env ...string) starter {
	t.Helper()
	needAssets(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), starterDir+"="+dir), env...)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := fleet.Down(context.Background(), dir); err != nil {
			t.Error(err)
		}
	})
	return starter{cmd: cmd, input: input, output: output}
}

// waitStarted waits until the fleet has started.
func (s starter) waitStarted(t *testing.T) {
	t.Helper()
	var said string
	if _, err := fmt.Fscanln(s.output, &said); err != nil || said != "started" {
		rest, _ := io.ReadAll(s.output)
		t.Fatalf("the starter says: %s %s (%v)", said, rest, err)
	}
}

// kill ends the starter as the out-of-memory killer would.
func (s starter) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
}

// running returns the ids of the processes that work in a fleet's folder, whether on its record or not.
func running(t *testing.T, dir string) []string {
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

// wantNoneRunning waits until nothing of the fleet is left.
func wantNoneRunning(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "the end of all processes", func(context.Context) (bool, error) { return len(running(t, dir)) == 0, nil })
}

func TestFleetDiesWithItsStarter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := runStarter(t, dir)
	s.waitStarted(t)
	if len(running(t, dir)) == 0 {
		t.Fatal("nothing runs")
	}
	s.kill(t)
	wantNoneRunning(t, dir)
}

func TestDetachedFleetLivesUntilDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := runStarter(t, dir, starterDetach+"=yes")
	s.waitStarted(t)
	before := running(t, dir)
	if err := s.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := running(t, dir); len(after) != 3 || len(before) != 3 {
		t.Errorf("got processes %v before the starter's end and %v after it, want 3", before, after)
	}

	wantDown(t, dir, 3)
	wantNoneRunning(t, dir)
	wantDown(t, dir, 0)
}

// TestDownAfterKills sees Down count and end what is left of a fleet when somebody has killed a part of it.
func TestDownAfterKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := runStarter(t, dir, starterDetach+"=yes")
	s.waitStarted(t)
	s.kill(t)
	killRecorded(t, filepath.Join(dir, fleet.HubName, "run", fleet.Etcd))
	wantDown(t, dir, 2)
	wantNoneRunning(t, dir)
}

// killRecorded kills the process that has written a record, and waits until it is gone.
func killRecorded(t *testing.T, record string) {
	t.Helper()
	line, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.Fields(string(line))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of process "+strconv.Itoa(id), func(context.Context) (bool, error) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id)) // empty once it is gone
		// A process that is killed loses its memory and its folder first, and is a zombie only later.
		return len(stat) == 0 || strings.Contains(string(stat), ") Z "), nil
	})
}

// wantDown ends a fleet and compares how many processes ran.
func wantDown(t *testing.T, dir string, want int) {
	t.Helper()
	got, err := fleet.Down(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d processes ran, want %d", got, want)
	}
}

func TestStartEndsAnEarlierFleet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := runStarter(t, dir, starterDetach+"=yes")
	record := filepath.Join(dir, fleet.HubName, "run", fleet.Etcd)
	eventually(t, "the first process", func(context.Context) (bool, error) {
		_, err := os.Stat(record)
		return err == nil, nil
	})
	s.kill(t)
	left := running(t, dir)

	f := start(t, fleet.Options{Dir: dir})
	for _, id := range left {
		for _, now := range running(t, dir) {
			if id == now {
				t.Errorf("process %s of the half-started fleet still runs", id)
			}
		}
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	wantNoneRunning(t, dir)
}

func TestStartRefusesAForeignFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Start(t.Context(), fleet.Options{Dir: dir, Assets: t.TempDir()}); err == nil {
		t.Error("got no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "thesis.tex")); err != nil {
		t.Error(err)
	}
}
