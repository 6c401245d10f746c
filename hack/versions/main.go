// Versions writes docs/versions.md from what the tests of make e2e-versions have told, a file per fleet.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: versions FOLDER PAGE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

// write writes the page of all the fleets whose tests are told of in a folder.
func write(folder, page string) error {
	files, err := filepath.Glob(filepath.Join(folder, "v*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no fleet was run: %s has no results", folder)
	}
	var runs []run
	for _, file := range files {
		r, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		runs = append(runs, r)
	}
	return os.WriteFile(page, []byte(pageOf(runs)), 0o644)
}
