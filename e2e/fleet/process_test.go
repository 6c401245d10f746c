package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestParseStat(t *testing.T) {
	const rest = " T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21"
	for name, tc := range map[string]struct {
		line string
		want record
		fail bool
	}{
		"plain":             {line: "42 (etcd)" + rest, want: record{pid: 42, start: 777, state: stateStopped}},
		"spaces and braces": {line: "42 (a) Z (b) c)" + rest, want: record{pid: 42, start: 777, state: stateStopped}},
		"cut short":         {line: "42 (etcd) T 1 2", fail: true},
		"empty":             {fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(tc.line)
			if (err != nil) != tc.fail {
				t.Fatalf("got error %v, want one: %t", err, tc.fail)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(record{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnotherProcessUnderTheSameIDIsNotEnded(t *testing.T) {
	p := newProcess(command{name: "sleep", path: "/bin/sleep", args: []string{"1h"}}, t.TempDir(), false)
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := readStat(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	earlier := record{pid: now.pid, start: now.start - 1}
	if err := earlier.end(t.Context(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if isClosed(p.Done()) {
		t.Fatal("a process that was not meant has ended")
	}
	if err := now.end(t.Context(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

func TestStartTakesAnotherPort(t *testing.T) {
	c := &ControlPlane{Dir: t.TempDir()}
	var ports []int
	port, err := c.startOnFreePort(t.Context(), func(port int) (command, error) {
		ports = append(ports, port)
		script, ready := "exec sleep 1h", error(nil)
		if len(ports) == 1 {
			script, ready = "echo bind: address already in use; exit 1", errors.New("no answer")
		}
		return command{
			name:  "server",
			path:  "/bin/sh",
			args:  []string{"-c", script},
			ready: func(context.Context) error { return ready },
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ports) != 2 || port != ports[1] {
		t.Errorf("got port %d after tries with %v, want the second of two", port, ports)
	}
	if err := c.kill(); err != nil {
		t.Fatal(err)
	}
}

func TestProcessRunsOnce(t *testing.T) {
	p := newProcess(command{name: "sleep", path: "/bin/sleep", args: []string{"1h"}}, t.TempDir(), false)
	if err := p.Kill(); err != nil {
		t.Errorf("kill before the start: %v", err)
	}
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context()); !errors.Is(err, errRunning) {
		t.Errorf("second start: got %v, want %v", err, errRunning)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

// TestRevival sees that a process that ends by itself comes back, and that one that was ended does not.
func TestRevival(t *testing.T) {
	folder := t.TempDir()
	runs := filepath.Join(folder, "runs")
	script := fmt.Sprintf("echo run >>%s; exec sleep $(test $(wc -l <%s) -gt 2 && echo 1h || echo 0)", runs, runs)
	p := newProcess(command{name: "worker", path: "/bin/sh", args: []string{"-c", script}, revive: true}, folder, false)
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ran := func(times int) func(context.Context) (bool, error) {
		return func(context.Context) (bool, error) {
			data, _ := os.ReadFile(runs) // it is not there before the first run
			return bytes.Count(data, []byte("run")) == times, nil
		}
	}
	if err := wait.PollUntilContextTimeout(t.Context(), pollInterval, time.Minute, true, ran(3)); err != nil {
		t.Fatal("it did not come back twice:", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p.revive()
	if !isClosed(p.Done()) {
		t.Error("it came back although somebody had ended it")
	}
}
