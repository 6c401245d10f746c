// Paste puts what benchmarks and tests have printed into a document, between the lines <!-- NAME --> and <!-- end of
// NAME -->, as far indented as these are.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
var place = regexp.MustCompile(`(?sm)^( *)<!-- ([a-z]+) -->\n.*?<!-- end of ([a-z]+) -->`)

// paste replaces what stands in the document by FOLDER/NAME.txt.
func paste(document, folder string) error {
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	var failed error
	pasted := place.ReplaceAllFunc(content, func(found []byte) []byte {
		names := place.FindSubmatch(found)
		indent, name := string(names[1]), string(names[2])
		if name != string(names[3]) {
			failed = fmt.Errorf("%s: after %s comes the end of %s", document, name, names[3])
			return found
		}
		output, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			failed = err
			return found
		}
		block := fmt.Sprintf("<!-- %s -->\n```\n%s```\n<!-- end of %s -->", name, output, name)
		return []byte(indent + strings.ReplaceAll(block, "\n", "\n"+indent))
	})
	if failed != nil {
		return failed
	}
	return os.WriteFile(document, pasted, 0o644)
}
