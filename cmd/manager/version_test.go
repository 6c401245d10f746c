package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersion prints what the linker set, and where it set nothing what Go recorded.
func TestVersion(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.1.1"},
		Deps:     []*debug.Module{{Path: "k8s.io/client-go", Version: "v0.36.3"}, {Path: "k8s.io/utils", Version: "v1"}},
		Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "2222"}},
	}
	for name, tc := range map[string]struct {
		version, commit string
		info            *debug.BuildInfo
		want            map[string]string
	}{
		"of a release": {"v0.1.0", "1111", recorded, map[string]string{"version": "v0.1.0", "commit": "1111", "k8s.io/client-go": "v0.36.3"}},
		"by go build":  {"", "", recorded, map[string]string{"version": "v0.1.1", "commit": "2222", "k8s.io/client-go": "v0.36.3"}},
		"of nothing":   {"", "", &debug.BuildInfo{}, map[string]string{"version": "unknown", "commit": "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			version, commit = tc.version, tc.commit
			defer func() { version, commit = "", "" }()
			tc.want["go"], tc.want["platform"] = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			var out bytes.Buffer
			if err := printVersion(&out, tc.info); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, facts(t, out.String())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestVersionOfThisProgram runs the command: a test, too, knows the libraries that it was linked with.
func TestVersionOfThisProgram(t *testing.T) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs([]string{"version"})
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := facts(t, out.String())
	for _, module := range reportedModules {
		if !strings.HasPrefix(told[module], "v") {
			t.Errorf("%s is of version %q", module, told[module])
		}
	}
}

// facts reads lines of a name, a colon and a value.
func facts(t *testing.T, lines string) map[string]string {
	t.Helper()
	facts := map[string]string{}
	for line := range strings.Lines(lines) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			t.Errorf("a line without a name: %q", line)
		}
		facts[name] = strings.TrimSpace(value)
	}
	return facts
}
