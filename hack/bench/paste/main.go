// Paste puts what the benchmarks have printed into a document, between the lines <!-- NAME --> and <!-- end of NAME
// -->.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: paste DOCUMENT FOLDER")
		os.Exit(2)
	}
	if err := paste(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "paste:", err)
		os.Exit(1)
	}
}

// place is where an output goes. Go's expressions have no back references: the names of both lines are compared in
// code.
var place = regexp.MustCompile(`(?s)<!-- ([a-z]+) -->\n.*?<!-- end of ([a-z]+) -->`)

// paste replaces what stands in the document by FOLDER/NAME.txt.
func paste(document, folder string) error {
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	var failed error
	pasted := place.ReplaceAllFunc(content, func(found []byte) []byte {
		names := place.FindSubmatch(found)
		name := string(names[1])
		if name != string(names[2]) {
			failed = fmt.Errorf("%s: after %s comes the end of %s", document, name, names[2])
			return found
		}
		output, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			failed = err
			return found
		}
		return fmt.Appendf(nil, "<!-- %s -->\n```\n%s```\n<!-- end of %s -->", name, output, name)
	})
	if failed != nil {
		return failed
	}
	return os.WriteFile(document, pasted, 0o644)
}
