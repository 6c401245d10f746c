package main

import (
	"errors"
	"os"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of whatever outlives the one that has started it: a test that panics, or
// is interrupted, stops none of its servers.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// endChildren kills all children of this process, and theirs, and returns when they are gone.
func endChildren() error {
	for {
		pids, err := children()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
				return err
			}
		}
	}
}

// children returns the process ids of the children of this process.
func children() ([]int, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, process := range all {
		stat, err := process.Stat()
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		if stat.PPID == os.Getpid() {
			pids = append(pids, process.PID)
		}
	}
	return pids, nil
}
