package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	folder := t.TempDir()
	const scenarios = `{"Action":"pass","Test":"TestSmoke"}
{"Action":"pass","Test":"TestScenarios/removal/Retain"}
{"Action":"pass","Test":"TestScenarios/removal"}
{"Action":"pass","Elapsed":20}
`
	const rows = `{"Action":"output","Test":"TestNative/count/claims","Output":"    older_test.go:1: LESS: claims: KindNotServed: east, west: count/claims\n"}
{"Action":"skip","Test":"TestNative/count/claims"}
{"Action":"pass","Test":"TestNative/pods"}
{"Action":"pass","Test":"TestNative"}
{"Action":"pass","Elapsed":41}
`
	for file, events := range map[string]string{
		"v1.9.1.e2e.json":            scenarios,
		"v1.9.1.native.json":         rows,
		"v1.10.0.e2e.json":           `{"Action":"fail","Test":"TestScenarios/removal"}{"Action":"fail","Test":"TestScenarios"}`,
		"v1.10.0+v1.9.1.native.json": rows,
		"v1.9.2.native.json.new":     rows,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(events), 0o600); err != nil {
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
		"| v1.9.1 | v1.9.1 | ok | 1 | 1 | 1 | 61 |  |\n",
		"| v1.9.2 | v1.9.2 | *not run* | | *not run* | |  |  |\n",
		"| v1.10.0 | v1.10.0 | **failed** | 0 | *not run* | | 0 | TestScenarios/removal |\n",
		"| v1.10.0 | v1.9.1 | *not run* | | 1 | 1 | 41 |  |\n",
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
