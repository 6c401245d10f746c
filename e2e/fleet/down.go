package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
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

// ignoreNotExist drops the error that says that a file is gone.
func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
