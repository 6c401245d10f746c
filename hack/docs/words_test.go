package docs

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// glossary is the part of CONTRIBUTING.md that lists words that nobody uses.
var glossary = regexp.MustCompile(`(?s)### Words that we do not use\n.*?\n## `)

// row is one of its rows: words, and what to say instead.
var row = regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`)

// unused finds words, each with what to say instead.
type unused map[*regexp.Regexp]string

// TestWords sees that pages and comments have none of the words that the glossary forbids.
func TestWords(t *testing.T) {
	contributing, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := parseUnused(glossary.FindString(string(contributing)))
	if len(words) < 10 {
		t.Fatalf("CONTRIBUTING.md lists %d words", len(words))
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name, _ := filepath.Rel(root, path); {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "docs/decisions", "docs/reference"}, name):
			return fs.SkipDir
		case filepath.Ext(path) == ".md" && name != "CHANGELOG.md":
			content, err := os.ReadFile(path)
			for _, found := range words.in(prose(string(content))) {
				t.Errorf("%s:%s", name, found)
			}
			return err
		case filepath.Ext(path) == ".go":
			comments, err := commentsOf(path)
			for _, found := range words.in(comments) {
				t.Errorf("%s:%s", name, found)
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func parseUnused(table string) unused {
	words := unused{}
	for _, cells := range row.FindAllStringSubmatch(table, -1) {
		if cells[1] == "not" {
			continue
		}
		for word := range strings.SplitSeq(cells[1], ", ") {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(word), " ", `[\s/]+`)
			words[regexp.MustCompile(`(?i)\b`+pattern+`\b`)] = cells[2]
		}
	}
	return words
}

// in returns where a text has any of the words.
func (u unused) in(text string) []string {
	var found []string
	for word, instead := range u {
		for _, at := range word.FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:at[0]], "\n")
			found = append(found, fmt.Sprintf("%d: %q: say %s", line, text[at[0]:at[1]], instead))
		}
	}
	slices.Sort(found)
	return found
}

var code = regexp.MustCompile("(?sm)^ *```.*?^ *```$|`[^`\n]*`|\\]\\([^)]*\\)")

// prose returns a page without code, targets of links and the words that nobody uses. Lines stay where they are.
func prose(page string) string {
	for _, left := range []*regexp.Regexp{code, glossary} {
		page = left.ReplaceAllStringFunc(page, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	}
	return page
}

// commentsOf returns the comments of a source, each on the lines that it has there.
func commentsOf(path string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	line := 1
	for _, group := range file.Comments {
		for _, comment := range group.List {
			at := files.Position(comment.Pos()).Line
			text.WriteString(strings.Repeat("\n", at-line) + comment.Text)
			line = at + strings.Count(comment.Text, "\n")
		}
	}
	return text.String(), nil
}

// TestUnused sees which words are found, and where.
func TestUnused(t *testing.T) {
	words := parseUnused("| not | but |\n|---|---|\n| so far as, lest | if |\n")
	page := "A\n`lest`\n\n```\nlest\n```\nthe smallest [a](lest.md)\nSo far\nas it goes"
	if got, want := strings.Join(words.in(prose(page)), "; "), `8: "So far\nas": say if`; got != want {
		t.Errorf("of a page got %s, want %s", got, want)
	}
	source := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(source, []byte("// Package a is so far\n// as it is.\npackage a\n\nconst lest = 1 // Lest we\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := commentsOf(source)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(words.in(found), "; "), `1: "so far\n// as": say if; 5: "Lest": say if`; got != want {
		t.Errorf("of a source got %s, want %s", got, want)
	}
}
