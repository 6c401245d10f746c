package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html site.css search.js
var files embed.FS

var layout = template.Must(template.ParseFS(files, "page.html"))

// view is what the layout shows of a page.
type view struct {
	Title, Root string
	Body        template.HTML
	Groups      []group
}

// group is a part of the navigation: a heading of the index, and the links below it.
type group struct {
	Title string
	Links []link
}

type link struct {
	Text, URL string
	Here      bool
}

// write writes the site into a folder.
func (s *site) write(to, source string) error {
	groups := s.navigation()
	var found []section
	for _, name := range s.names() {
		found = append(found, s.pages[name].sections()...)
		page, err := s.render(s.pages[name], groups, source)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(to, url(name)), page); err != nil {
			return err
		}
	}
	for _, name := range s.pictures {
		content, err := fs.ReadFile(s.files, name)
		if err == nil {
			err = put(filepath.Join(to, name), content)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"site.css", "search.js"} {
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(to, name), content); err != nil {
			return err
		}
	}
	sections, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return put(filepath.Join(to, "sections.js"), append([]byte("window.sections = "), sections...))
}

func put(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// url returns where the site has a page of the repository.
func url(name string) string {
	folder, file := path.Split(name)
	if file == "README.md" {
		return folder + "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// up returns the way from a page to the root of the site.
func up(name string) string { return strings.Repeat("../", strings.Count(name, "/")) }

// navigation returns the groups of the index. Their URLs are relative to the root of the site.
func (s *site) navigation() []group {
	var groups []group
	p := s.pages[index]
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok && heading.Level == 2 {
			groups = append(groups, group{Title: p.textOf(heading)})
			continue
		}
		if len(groups) == 0 {
			continue
		}
		last := &groups[len(groups)-1]
		for _, l := range links(n) {
			file, _ := p.target(string(l.Destination))
			last.Links = append(last.Links, link{Text: p.textOf(l), URL: url(file)})
		}
	}
	return groups
}

// render returns a page of the site, whose links lead to pages of the site or to files in the repository.
func (s *site) render(p *page, groups []group, source string) ([]byte, error) {
	root := up(p.path)
	for _, l := range links(p.tree) {
		file, anchor := p.target(string(l.Destination))
		switch {
		case file == "":
			continue
		case s.pages[file] == nil:
			l.Destination = []byte(source + file)
			continue
		}
		l.Destination = []byte(root + url(file))
		if anchor != "" {
			l.Destination = append(l.Destination, "#"+anchor...)
		}
	}
	var body, whole bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	v := view{Title: p.title, Root: root, Body: template.HTML(body.String())} //nolint:gosec // our own pages
	for _, g := range groups {
		here := group{Title: g.Title}
		for _, l := range g.Links {
			here.Links = append(here.Links, link{Text: l.Text, URL: root + l.URL, Here: l.URL == url(p.path)})
		}
		v.Groups = append(v.Groups, here)
	}
	err := layout.Execute(&whole, v)
	return whole.Bytes(), err
}

// section is what search finds: what stands below a heading of a page.
type section struct {
	URL     string `json:"url"`
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

func (p *page) sections() []section {
	var all []section
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok {
			id, _ := heading.AttributeString("id")
			all = append(all, section{URL: url(p.path) + "#" + string(id.([]byte)), Page: p.title, Heading: p.textOf(heading)})
			continue
		}
		if len(all) > 0 {
			last := &all[len(all)-1]
			last.Text = strings.TrimSpace(last.Text + " " + p.textOf(n))
		}
	}
	return all
}
