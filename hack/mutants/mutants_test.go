package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryMutantCanBeMade sees that what is to be taken out is there, once.
func TestEveryMutantCanBeMade(t *testing.T) {
	functions, err := readFunctions(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all() {
		file, without, err := m.mutate(root, functions)
		if err != nil {
			t.Errorf("%s: %v", m.protection, err)
			continue
		}
		if whole, err := read(root, file); err != nil || without == whole {
			t.Errorf("%s: nothing changes: %v", m.protection, err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), file, without, 0); m.in != "" && err != nil {
			t.Errorf("%s: %v", m.protection, err)
		}
	}
}

// TestEveryTestIsThere sees that the tests that have to fail are in the packages that are named.
func TestEveryTestIsThere(t *testing.T) {
	for _, m := range all() {
		name, _, _ := strings.Cut(m.test, "/")
		files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(files, func(file string) bool {
			content, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(content), "\nfunc "+name+"(t *testing.T)")
		})
		if !there {
			t.Errorf("%s: no %s in %s", m.protection, name, m.pkg)
		}
	}
}

// TestDocumentIsUpToDate sees that docs/evidence/protections.md lists what there is.
func TestDocumentIsUpToDate(t *testing.T) {
	written, err := os.ReadFile(filepath.Join(root, "docs", "evidence", "protections.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != document(all()) {
		t.Error("docs/evidence/protections.md is not what make mutants writes")
	}
}
