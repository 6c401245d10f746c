package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	folder := t.TempDir()
	const scenarios = `{"Action":"run","Test":"TestSmoke"}
{"Action":"output","Test":"TestSmoke","Output":"    smoke_test.go:9: much\n"}
{"Action":"pass","Test":"TestSmoke","Elapsed":3}
{"Action":"pass","Test":"TestScenarios/removal/Retain"}
{"Action":"pass","Test":"TestScenarios/removal"}
{"Action":"pass","Elapsed":20,"Time":"2026-11-28T12:00:00Z"}
`
	const rows = `{"Action":"output","Test":"TestNative/count/claims","Output":"    older_test.go:1: LESS: claims: KindNotServed: east, west: count/claims\n"}
{"Action":"skip","Test":"TestNative/count/claims"}
{"Action":"pass","Test":"TestNative/pods"}
{"Action":"pass","Test":"TestNative"}
{"Action":"pass","Elapsed":41,"Time":"2026-11-27T12:00:00Z"}
`
	for file, events := range map[string]string{
		"v1.9.1.e2e.json":            scenarios,
		"v1.9.1.native.json":         rows,
		"v1.10.0.e2e.json":           `{"Action":"fail","Test":"TestScenarios/removal"}{"Action":"fail","Test":"TestScenarios"}{"Action":"fail","Time":"2026-11-28T12:00:00Z"}`,
		"v1.10.0+v1.9.1.native.json": rows,
	} {
		if err := keep(fileOf(t, events), filepath.Join(folder, file)); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(folder, "page.md")
	if err := write(folder, page, []string{"v1.9.1", "v1.9.2", "v1.10.0+v1.9.1", "v1.10.0"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(content)
	for _, want := range []string{
		"| v1.9.1 | v1.9.1 | ok | 1 | 1 | 1 | 61 | 2026-11-27 |  |\n",
		"| v1.9.2 | v1.9.2 | *not run* | | *not run* | |  |  |  |\n",
		"| v1.10.0 | v1.10.0 | **failed** | 0 | *not run* | | 0 | 2026-11-28 | TestScenarios/removal |\n",
		"| v1.10.0 | v1.9.1 | *not run* | | 1 | 1 | 41 | 2026-11-27 |  |\n",
		"| claims | v1.9.1 | count/claims | KindNotServed: east, west: count/claims |\n",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no line %q, after those before it, in\n%s", want, content)
		}
		rest = after
	}
}

func TestNoPageWithoutRuns(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := write(t.TempDir(), page, []string{"v1.9.1"}); err == nil {
		t.Error("no fleet was run, and that is no error")
	}
	if _, err := os.Stat(page); !os.IsNotExist(err) {
		t.Errorf("no fleet was run, and there is a page: %v", err)
	}
}

func TestKeepsWhatHasEnded(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "results", "v1.9.1.e2e.json")
	const before = `{"Action":"pass","Test":"TestSmoke"}{"Action":"pass","Elapsed":20,"Time":"2026-11-28T12:00:00Z"}`
	if err := keep(fileOf(t, before), kept); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string]string{
		"cut off":      `{"Action":"pass","Test":"TestSmoke"}`,
		"not compiled": `{"Action":"build-fail"}{"Action":"fail"}`,
		"nothing":      "",
	} {
		if err := keep(fileOf(t, output), kept); err == nil {
			t.Errorf("%s: it was kept", name)
		}
	}
	if content, err := os.ReadFile(kept); err != nil || string(content) != string(want) {
		t.Errorf("got %s, %v, want %s", content, err, want)
	}
}

func fileOf(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "output.json")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
