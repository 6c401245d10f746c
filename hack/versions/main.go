// Versions writes docs/versions.md from what the tests of make e2e-versions have told, a file per fleet and package.
package main

import (
	"fmt"
	"os"
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

// write writes the page of fleets. What the folder has no results of was not run, and the page says so.
func write(folder, page string, fleets []string) error {
	var runs []run
	for _, fleet := range fleets {
		r, err := read(folder, fleet)
		if err != nil {
			return fmt.Errorf("%s: %w", fleet, err)
		}
		runs = append(runs, r)
	}
	if !slices.ContainsFunc(runs, func(r run) bool { return len(r.played) > 0 }) {
		return fmt.Errorf("no fleet was run: %s has no results", folder)
	}
	return os.WriteFile(page, []byte(pageOf(runs)), 0o644)
}
