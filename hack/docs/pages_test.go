// Package docs checks pages of documentation.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestOutputs sees that pages of docs/tasks show no output but what a test writes for them. A block of a page either
// lies between markers of such a test, or is YAML that readers write, or is made of commands that they type.
func TestOutputs(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "tasks", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are %d pages: %v", len(pages), err)
	}
	written, shown := writtenByTests(t), sets.New[string]()
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocksOf(string(content)) {
			name := filepath.Base(page)
			switch {
			case b.marker != "":
				shown.Insert(b.marker)
				if !written.Has(b.marker) {
					t.Errorf("%s: no test writes output %s", name, b.marker)
				}
			case b.language == "yaml":
				for document := range strings.SplitSeq(strings.Join(b.lines, "\n"), "\n---\n") {
					if err := yaml.Unmarshal([]byte(document), new(any)); err != nil {
						t.Errorf("%s: %v in\n%s", name, err, document)
					}
				}
			default:
				if line := noCommand(b.lines); line != "" {
					t.Errorf("%s: this is no command, so a test has to write it: %s", name, line)
				}
			}
		}
	}
	for _, name := range sets.List(written.Difference(shown)) {
		t.Errorf("no page shows output %s", name)
	}
}

// writes is how tests write an output.
var writes = regexp.MustCompile(`\.(?:page|kubectlPage|pageAndCode)\("([a-z]+)",`)

// writtenByTests returns the names of outputs that end-to-end tests write.
func writtenByTests(t *testing.T) sets.Set[string] {
	t.Helper()
	names := sets.New[string]()
	err := filepath.WalkDir(filepath.Join(root, "e2e"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range writes.FindAllStringSubmatch(string(source), -1) {
			names.Insert(found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// block is a fenced one, with the marker before it.
type block struct {
	marker, language string
	lines            []string
}

var begins = regexp.MustCompile(`^<!-- ([a-z]+) -->$`)

func blocksOf(page string) []block {
	var blocks []block
	var current *block
	marker, indent := "", ""
	for whole := range strings.Lines(page) {
		line := strings.TrimSpace(whole)
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case current == nil && fence:
			indent, _, _ = strings.Cut(whole, "`")
			current = &block{marker: marker, language: language}
		case current != nil && fence:
			blocks, current = append(blocks, *current), nil
		case current != nil:
			current.lines = append(current.lines, strings.TrimPrefix(strings.TrimRight(whole, " \n"), indent))
		case begins.MatchString(line):
			marker = begins.FindStringSubmatch(line)[1]
		case line != "":
			marker = ""
		}
	}
	return blocks
}

// programs are those that commands of pages begin with.
var programs = []string{"#", "cat", "cp", "export", "helm", "kubectl", "make", "manager", "mkdir"}

var here = regexp.MustCompile(`<<'?([A-Z]+)'?`)

// noCommand returns the first line that neither begins a command nor goes on with one, or "".
func noCommand(lines []string) string {
	goesOn, until := false, ""
	for _, line := range lines {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case until != "":
			if line == until {
				until = ""
			}
			continue
		case line != "" && !goesOn && !slices.Contains(programs, word):
			return line
		}
		if found := here.FindStringSubmatch(line); found != nil {
			until = found[1]
		}
		goesOn = strings.HasSuffix(line, "\\") || strings.HasSuffix(line, "|")
	}
	return ""
}

// TestNoCommand sees what would be taken for a command.
func TestNoCommand(t *testing.T) {
	for want, lines := range map[string]string{
		"":                      "kubectl get fq \\\n  -o yaml |\n  kubectl apply -f -\n\n# why\ncat >a <<'END'\nkind: A\nEND\nmake demo",
		"NAME   READY":          "kubectl get fq\nNAME   READY",
		"$ kubectl get fq":      "$ kubectl get fq",
		"compute   True":        "cat <<END\nany\nEND\ncompute   True",
		"Debt: More is granted": "Debt: More is granted",
	} {
		if got := noCommand(strings.Split(lines, "\n")); got != want {
			t.Errorf("%q is found in %q, want %q", got, lines, want)
		}
	}
}
