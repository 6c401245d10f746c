package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	stateFile  = "fleet.json"
	bootIDFile = "/proc/sys/kernel/random/boot_id"
)

// state marks a folder as a fleet's. The ids of the processes are in a folder of their own, a file for each.
type state struct {
	// BootID tells the boot of the machine under which the fleet's process ids mean something.
	BootID string `json:"bootID"`
}

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

// Down ends all processes of the fleet in a folder, whoever started them and however far that came, and returns how
// many ran. Programs are asked to end and given a few seconds, control planes are killed. The files stay. A folder
// without a fleet is no error.
func Down(ctx context.Context, dir string) (int, error) {
	fleet, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the fleet's state: %w", err)
	}
	boot, err := bootID()
	if err != nil || boot != fleet.BootID {
		return 0, err
	}
	programs, err := endRecorded(ctx, filepath.Join(dir, programsName), syscall.SIGTERM)
	if err != nil {
		return programs, err
	}
	others, err := endRecorded(ctx, filepath.Join(dir, "*"), syscall.SIGKILL)
	return programs + others, err
}

// prepareFolder makes an empty folder for a fleet, out of an earlier one's if need be, and marks it.
func prepareFolder(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := readState(dir); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is neither empty nor a fleet's: %w", dir, err)
	}
	if _, err := Down(ctx, dir); err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == stateFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return writeState(dir)
}

// readState reads a fleet's state.
func readState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// writeState writes a fleet's state, all of it or nothing.
func writeState(dir string) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	data, err := json.Marshal(state{BootID: boot})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, stateFile)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// bootID returns the id of the machine's current boot.
func bootID() (string, error) {
	data, err := os.ReadFile(bootIDFile)
	return strings.TrimSpace(string(data)), err
}

// endRecorded sends a signal to all processes on record under some folders, waits until they are gone, and returns how
// many ran.
func endRecorded(ctx context.Context, folders string, signal syscall.Signal) (int, error) {
	files, err := filepath.Glob(filepath.Join(folders, recordsFolder, "*"))
	if err != nil {
		return 0, err
	}
	var ran atomic.Int32
	err = inParallel(files, func(file string) error {
		line, err := os.ReadFile(file)
		if err != nil {
			return ignoreNotExist(err)
		}
		r, err := parseStat(string(line))
		if err != nil {
			// The process was killed before it had written its record, and so before it became the program.
			return ignoreNotExist(os.Remove(file))
		}
		if !r.gone() {
			ran.Add(1)
		}
		if err := r.end(ctx, signal); err != nil {
			return fmt.Errorf("end the process in %s: %w", file, err)
		}
		return ignoreNotExist(os.Remove(file))
	})
	return int(ran.Load()), err
}

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

// ignoreNotExist drops the error that says that a file is gone.
func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
