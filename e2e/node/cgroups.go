package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// cgroupVariable tells the work of the sandbox which cgroup is its own.
	cgroupVariable = "FEDQUOTA_SANDBOX_CGROUP"
	cgroupPrefix   = "fedquota-node-"
	cgroupFolder   = "/sys/fs/cgroup"

	removeTries = 50
	removePause = 100 * time.Millisecond
)

// cgroupOf is the name of the cgroup under which a process and its sandbox put all others.
func cgroupOf(pid int) string { return cgroupPrefix + strconv.Itoa(pid) }

// hierarchies are the roots of all cgroups: one in version 2, one for each controller in version 1.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupFolder, "cgroup.controllers")); err == nil {
		return []string{cgroupFolder}, nil
	}
	entries, err := os.ReadDir(cgroupFolder)
	var roots []string
	for _, entry := range entries {
		if entry.IsDir() { // the others are links to hierarchies of several controllers
			roots = append(roots, filepath.Join(cgroupFolder, entry.Name()))
		}
	}
	return roots, err
}

// makeCgroups makes a cgroup in all hierarchies.
func makeCgroups(name string) error {
	roots, err := hierarchies()
	for _, root := range roots {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			return err
		}
	}
	return err
}

// removeLeftCgroups removes the cgroups of runs that have ended without doing so.
func removeLeftCgroups() error {
	left, err := filepath.Glob(filepath.Join(cgroupFolder, "*", cgroupPrefix+"*"))
	if err != nil {
		return err
	}
	right, err := filepath.Glob(filepath.Join(cgroupFolder, cgroupPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range append(left, right...) {
		pid := strings.TrimPrefix(filepath.Base(path), cgroupPrefix)
		if _, err := os.Stat(filepath.Join("/proc", pid)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, removeCgroup(path))
		}
	}
	return errors.Join(errs...)
}

// removeCgroups removes a cgroup and all below it from all hierarchies.
func removeCgroups(name string) error {
	roots, err := hierarchies()
	errs := []error{err}
	for _, root := range roots {
		errs = append(errs, removeCgroup(filepath.Join(root, name)))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a cgroup and all below it. One whose processes have just ended may be busy for a moment.
func removeCgroup(path string) error {
	var err error
	for range removeTries {
		if err = removeFolders(path); err == nil {
			return nil
		}
		<-time.After(removePause)
	}
	return fmt.Errorf("removing cgroup %s: %w", path, err)
}

// removeFolders removes a folder and all below it, of which the kernel lets nobody remove the files.
func removeFolders(path string) error {
	var folders []string
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, folder := range slices.Backward(folders) {
		err = errors.Join(err, os.Remove(folder))
	}
	return err
}
