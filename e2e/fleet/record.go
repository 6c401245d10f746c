package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	pollInterval = 50 * time.Millisecond
	stopGrace    = 5 * time.Second
)

// record is what tells a process from any other, and what it is doing.
type record struct {
	pid   int
	start uint64
	state string
}

// States of a process as /proc shows them.
const (
	stateStopped = "T"
	stateZombie  = "Z"
	stateDead    = "X"
)

// end sends a signal to the process, kills it if that does not end it, and waits until it is gone.
func (r record) end(ctx context.Context, signal syscall.Signal) error {
	// The handle stays with the process it was opened for, so that nothing can come between the check and the signal.
	process, err := os.FindProcess(r.pid)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	if r.gone() {
		return nil
	}
	for _, s := range []os.Signal{signal, syscall.SIGCONT} {
		if err := process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	err = wait.PollUntilContextTimeout(ctx, pollInterval, stopGrace, true, func(context.Context) (bool, error) {
		return r.gone(), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil && signal != syscall.SIGKILL {
		return r.end(ctx, syscall.SIGKILL)
	}
	return err
}

// gone tells whether the process has ended; its id may be another's by now.
func (r record) gone() bool {
	now, err := readStat(r.pid)
	return err != nil || now.start != r.start || now.state == stateZombie || now.state == stateDead
}

// readStat returns what a process's id stands for now.
func readStat(pid int) (record, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return record{}, err
	}
	return parseStat(string(line))
}

// parseStat reads a line of /proc/<pid>/stat: the id, the name in parentheses, the state, …, and as the 22nd field
// the start time.
func parseStat(line string) (record, error) {
	const startField = 22 - 3
	id, _, _ := strings.Cut(line, " ")
	fields := strings.Fields(line[strings.LastIndex(line, ")")+1:])
	if len(fields) <= startField {
		return record{}, fmt.Errorf("not a process's line: %q", line)
	}
	pid, err := strconv.Atoi(id)
	if err != nil {
		return record{}, err
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	return record{pid: pid, start: start, state: fields[0]}, err
}
