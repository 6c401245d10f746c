package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaste(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "page.md")
	for name, content := range map[string]string{
		"a.txt":   "$ new\nanswer\n",
		"page.md": "<!-- a -->\nold\n<!-- end of a -->\n\n1. Step\n\n   <!-- a -->\n   old\n   <!-- end of a -->\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := paste(document, folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const block = "<!-- a -->\n```\n$ new\nanswer\n```\n<!-- end of a -->\n"
	want := block + "\n1. Step\n\n   <!-- a -->\n   ```\n   $ new\n   answer\n   ```\n   <!-- end of a -->\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(folder, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := paste(document, folder); err == nil {
		t.Error("an output that nothing has written is no error")
	}
}
