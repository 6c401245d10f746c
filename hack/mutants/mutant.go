package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is the product without one protection.
type mutant struct {
	// protection says what is taken out, in the words of the protocol.
	protection string
	// in is the function that holds old once, which becomes new: its name, behind the folder of its package where there
	// are several. Neither where it stands nor how it is formatted matters, nor what its variables are called.
	in string
	// file holds old instead, where that is no Go.
	file     string
	old, new string
	// pkg and test name the test that has to fail: as go test writes it, subtests behind slashes.
	pkg, test string
}

// testName is the test with its package, for people.
func (m mutant) testName() string { return m.pkg + " " + m.test }

// pattern is what makes go test run one test alone.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// place is where the protection stands, for people.
func (m mutant) place() string { return cmp.Or(m.in, m.file) }

// mutate returns which file of the tree is another one without the protection, and its content then.
func (m mutant) mutate(tree string, functions functions) (file, content string, err error) {
	if m.in == "" {
		content, err := read(tree, m.file)
		if count := strings.Count(content, m.old); err == nil && count != 1 {
			err = fmt.Errorf("%s holds what is to be taken out %d times, want once: %q", m.file, count, m.old)
		}
		return m.file, strings.Replace(content, m.old, m.new, 1), err
	}
	function, err := functions.find(m.in)
	if err != nil {
		return "", "", err
	}
	without, err := function.replace(m.old, m.new)
	if err != nil {
		return "", "", err
	}
	whole, err := read(tree, function.file)
	if err != nil {
		return "", "", err
	}
	return function.file, whole[:function.start] + without + whole[function.end:], nil
}

func read(tree, file string) (string, error) {
	content, err := os.ReadFile(filepath.Join(tree, file))
	return string(content), err
}

// judge takes the protection out of the tree, runs the test, and puts it back. It returns nil if the test failed.
func (m mutant) judge(ctx context.Context, tree string, functions functions) (err error) {
	file, without, err := m.mutate(tree, functions)
	if err != nil {
		return err
	}
	path := filepath.Join(tree, file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, whole, 0o600)) }()
	if err := os.WriteFile(path, []byte(without), 0o600); err != nil {
		return err
	}
	output, err := goTest(ctx, tree, m.pkg, pattern(m.test))
	switch {
	case err == nil:
		return errors.New("PASSES")
	case !strings.Contains(output, "--- FAIL: "+m.test+" "):
		return fmt.Errorf("DID NOT FAIL BY ITSELF: %w\n%s", err, output)
	}
	return nil
}

// allPass runs the named tests on the whole product: one that fails anyway proves nothing.
func allPass(ctx context.Context, tree string, list []mutant) error {
	tests := map[string][]string{}
	for _, m := range list {
		top, _, _ := strings.Cut(m.test, "/")
		tests[m.pkg] = append(tests[m.pkg], "^"+top+"$")
	}
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		slices.Sort(tests[pkg])
		output, err := goTest(ctx, tree, pkg, strings.Join(slices.Compact(tests[pkg]), "|"))
		if err != nil {
			return fmt.Errorf("with all protections in place: %w\n%s", err, output)
		}
		for _, m := range list {
			if m.pkg == pkg && !strings.Contains(output, "--- PASS: "+m.test+" ") {
				return fmt.Errorf("there is no test %s, or it was skipped", m.testName())
			}
		}
	}
	return nil
}

// goTest runs tests of a package and returns what they print. What they leave in the folder for such things is beside
// the tree.
func goTest(ctx context.Context, tree, pkg, pattern string) (string, error) {
	command := exec.CommandContext(
		ctx, "go", "test", "-v", "-count=1", "-vet=off", "-trimpath", "-timeout=5m", "-run", pattern, "./"+pkg,
	)
	command.Dir = tree
	command.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(tree))
	// What outlives the command may hold on to its output.
	command.WaitDelay = time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return output.String(), err
}

// copyTree copies the project without its history; what was built for it is linked to.
func copyTree(root, into string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "bin":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(into, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(into, name), content, 0o600)
	})
	return errors.Join(err, os.Symlink(filepath.Join(root, "bin"), filepath.Join(into, "bin")))
}
