// Versions keeps what the tests of make e2e-versions have told, a file per fleet and package, and writes
// docs/versions.md from what is kept.
package main

import (
	"fmt"
	"os"
	"slices"
)

const usage = `usage: versions keep OUTPUT KEPT
       versions page FOLDER PAGE FLEET...`

func main() {
	do := func() error { return fmt.Errorf("%s", usage) }
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "keep":
		do = func() error { return keep(args[1], args[2]) }
	case len(args) > 3 && args[0] == "page":
		do = func() error { return write(args[1], args[2], args[3:]) }
	}
	if err := do(); err != nil {
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
	if !slices.ContainsFunc(runs, func(r run) bool { return len(r.played()) > 0 }) {
		return fmt.Errorf("no fleet was run: %s has no results", folder)
	}
	return os.WriteFile(page, []byte(pageOf(runs)), 0o644)
}
