package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSite makes the site of this repository: every link leads somewhere, on GitHub and on the site.
func TestSite(t *testing.T) {
	to := t.TempDir()
	if err := run("../..", to, "https://source/"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"index.html":                      `<a href="docs/index.html">Documentation</a>`,
		"docs/tasks/install.html":         `<a href="../../docs/concepts.html#objects">concepts</a>`,
		"docs/reference/conditions.html":  `<a href="https://source/api/v1alpha1/conditions.go">`,
		"docs/concepts.html":              `<h2 id="the-protocol">The protocol</h2>`,
		"docs/decisions/0026-pacing.html": `<h2>How it was shown</h2>`,
		"docs/evidence/protections.html":  `aria-current="page">Protections</a>`,
		"docs/tasks/see-a-budget.html":    `<img src="../pictures/budget.png"`,
		"docs/pictures/budget.png":        "PNG",
		"sections.js":                     `"url":"docs/concepts.html#the-protocol"`,
		"search.js":                       "window.sections",
		"site.css":                        "nav",
	} {
		content, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s does not have %s: %v", name, want, err)
		}
	}
}

// TestCheck sees what is wrong with links, and what is not.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		page, want string
	}{
		"a heading":               {page: "[a](#a-b)\n# A `b`"},
		"a heading, the second":   {page: "[a](#a-1)\n# A\n# A"},
		"a link in a heading":     {page: "[a](#a-b)\n# A [b](page.md)"},
		"an underscore":           {page: "[a](#a_b)\n# `A_b`"},
		"elsewhere":               {page: "[a](https://kubernetes.io/nothing)"},
		"code":                    {page: "`[a](b)`\n\n```\n[a](b)\n```"},
		"a source":                {page: "[a](../main.go)"},
		"a folder":                {page: "[a](../docs)"},
		"no file":                 {page: "[a](other.md)", want: "docs/page.md: other.md: there is no such file"},
		"no picture":              {page: "![a](other.png)", want: "docs/page.md: other.png: there is no such file"},
		"no heading":              {page: "[a](README.md#b)", want: "docs/page.md: README.md#b: there is no such heading"},
		"no heading of the page":  {page: "[a](#b)\n# A", want: "docs/page.md: #b: there is no such heading"},
		"a heading but not twice": {page: "[a](#a-1)\n# A", want: "docs/page.md: #a-1: there is no such heading"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problemsOf(t, tc.page, "// See docs/page.md."); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNamedInSources(t *testing.T) {
	for source, want := range map[string]string{
		"// See docs/README.md#index, https://other.io/docs/any.md, ../docs/any.md.": "",
		"// docs/gone.md says it.":     "main.go:  docs/gone.md: there is no such file",
		"\"docs/README.md#elsewhere\"": "main.go: \"docs/README.md#elsewhere: there is no such heading",
	} {
		if got := problemsOf(t, "# A", source); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// TestUnreached sees that no link leads to a page.
func TestUnreached(t *testing.T) {
	files := repository("# A", "")
	files["docs/alone.md"] = &fstest.MapFile{Data: []byte("[to itself](alone.md)")}
	if got, want := check(t, files), "docs/alone.md: no link leads here from docs/README.md"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// repository has a page docs/page.md and a source main.go, and the pages that each site has.
func repository(page, source string) fstest.MapFS {
	files := fstest.MapFS{"docs/page.md": {Data: []byte(page)}, "main.go": {Data: []byte(source)}}
	links := "# Index\n\n[page](page.md)"
	for _, name := range outside {
		files[name] = &fstest.MapFile{Data: []byte("# Any")}
		links += fmt.Sprintf(" [any](../%s)", name)
	}
	files[index] = &fstest.MapFile{Data: []byte(links)}
	return files
}

func problemsOf(t *testing.T, page, source string) string {
	t.Helper()
	return check(t, repository(page, source))
}

func check(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	s, err := read(files)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := s.check()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}
