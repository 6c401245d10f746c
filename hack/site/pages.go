package main

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// index leads to all pages, and is the navigation of the site.
const index = "docs/README.md"

// outside are the pages that do not lie below docs.
var outside = []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "hack/model/README.md"}

// Pages are our own, so HTML in them is kept.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

// site is all pages, by their paths in the repository.
type site struct {
	files fs.FS
	pages map[string]*page
	// pictures are the paths of what pages show.
	pictures []string
}

// page is a Markdown file.
type page struct {
	path, title string
	source      []byte
	tree        ast.Node
	anchors     map[string]bool
}

func read(files fs.FS) (*site, error) {
	s := &site{files: files, pages: map[string]*page{}}
	paths := slices.Clone(outside)
	err := fs.WalkDir(files, "docs", func(name string, _ fs.DirEntry, err error) error {
		switch path.Ext(name) {
		case ".md":
			paths = append(paths, name)
		case ".png":
			s.pictures = append(s.pictures, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range paths {
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		s.pages[name] = parse(name, source)
	}
	return s, nil
}

func parse(name string, source []byte) *page {
	p := &page{path: name, source: source, tree: markdown.Parser().Parse(text.NewReader(source)), anchors: map[string]bool{}}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		title := p.textOf(heading)
		if p.title == "" {
			p.title = title
		}
		heading.SetAttributeString("id", []byte(p.anchor(title)))
	}
	return p
}

// anchor returns the anchor that GitHub gives a heading, which it numbers where headings are alike.
func (p *page) anchor(title string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1
	}, strings.ToLower(title))
	unique := name
	for i := 1; p.anchors[unique]; i++ {
		unique = name + "-" + strconv.Itoa(i)
	}
	p.anchors[unique] = true
	return unique
}

// textOf returns what readers see of a node, as one line.
func (p *page) textOf(n ast.Node) string {
	var words strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				words.Write(n.Segment.Value(p.source))
			}
			if n.SoftLineBreak() {
				words.WriteByte(' ')
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				words.Write(n.Lines().Value(p.source))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			words.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(words.String()), " ")
}

// links returns all links of a page below a node.
func links(n ast.Node) []*ast.Link {
	var all []*ast.Link
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			all = append(all, link)
		}
		return ast.WalkContinue, nil
	})
	return all
}

// shown returns the pictures of a page, as it names them.
func shown(n ast.Node) []string {
	var all []string
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if picture, ok := n.(*ast.Image); ok && entering {
			all = append(all, string(picture.Destination))
		}
		return ast.WalkContinue, nil
	})
	return all
}
