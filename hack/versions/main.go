// Versions writes docs/versions.md from what the tests of make e2e-versions have told, a file per fleet.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: versions FOLDER PAGE FLEET...")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

// write writes the page of fleets. Those of which the folder has no results were not run, and the page says so.
func write(folder, page string, fleets []string) error {
	var runs []run
	for _, fleet := range fleets {
		r, err := read(filepath.Join(folder, fleet+".json"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", fleet, err)
		}
		runs = append(runs, r)
	}
	if !slices.ContainsFunc(runs, func(r run) bool { return r.played }) {
		return fmt.Errorf("no fleet was run: %s has no results", folder)
	}
	return os.WriteFile(page, []byte(pageOf(runs)), 0o644)
}
