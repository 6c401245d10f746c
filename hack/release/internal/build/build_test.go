package build

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const program = `package main

import "fmt"

var version, commit string

func main() { fmt.Println(version, commit) }
`

// TestProgram compiles the same source in two folders, one of them a work tree of git, to the same bytes.
func TestProgram(t *testing.T) {
	clone := source(t)
	if output, err := exec.Command("git", "-C", clone, "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	first, again := compile(t, clone, "amd64"), compile(t, source(t), "amd64")
	if !bytes.Equal(first, again) {
		t.Error("other bytes")
	}
	if !bytes.Contains(first, []byte("v0.1.0")) {
		t.Error("it does not hold its version")
	}
}

// TestProgramOfAnotherMachine compiles for arm64, statically.
func TestProgramOfAnotherMachine(t *testing.T) {
	file, err := elf.NewFile(bytes.NewReader(compile(t, source(t), "arm64")))
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := file.ImportedLibraries()
	if file.Machine != elf.EM_AARCH64 || err != nil || len(libraries) > 0 {
		t.Errorf("for %s with %v, %v", file.Machine, libraries, err)
	}
}

// TestProgramThatDoesNotCompile says for which platform.
func TestProgramThatDoesNotCompile(t *testing.T) {
	o := Options{Dir: source(t), Package: "./none"}
	err := Program(t.Context(), o, v1.Platform{OS: "linux", Architecture: "arm64"}, filepath.Join(t.TempDir(), "program"))
	if err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("it says %v", err)
	}
}

// source writes a module and returns its folder.
func source(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/program\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func compile(t *testing.T, folder, machine string) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "program")
	o := Options{Dir: folder, Package: ".", Version: "v0.1.0", Commit: "1111"}
	if err := Program(t.Context(), o, v1.Platform{OS: "linux", Architecture: machine}, to); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
