package main

import (
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// TestEveryMutantCanBeMade sees that what is to be taken out is there, once.
func TestEveryMutantCanBeMade(t *testing.T) {
	for _, m := range all() {
		content, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Fatal(err)
		}
		if without, err := m.mutate(string(content)); err != nil {
			t.Errorf("%s: %v", m.protection, err)
		} else if without == string(content) {
			t.Errorf("%s: nothing changes", m.protection)
		}
	}
}

// TestDocumentIsUpToDate sees that docs/protections.md lists what there is.
func TestDocumentIsUpToDate(t *testing.T) {
	written, err := os.ReadFile(filepath.Join(root, "docs", "protections.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != document(all()) {
		t.Error("docs/protections.md is not what make mutants writes")
	}
}
