package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// target is what a link of a page leads to: a file of the repository, and a heading of it. It is empty for a link that
// leads elsewhere.
func (p *page) target(link string) (file, anchor string) {
	if strings.Contains(link, ":") {
		return "", ""
	}
	file, anchor, _ = strings.Cut(link, "#")
	if file == "" {
		return p.path, anchor
	}
	return path.Join(path.Dir(p.path), file), anchor
}

// check returns what is wrong with links and pictures.
func (s *site) check() ([]error, error) {
	var problems []error
	for _, name := range s.names() {
		p := s.pages[name]
		led := shown(p.tree)
		for _, link := range links(p.tree) {
			led = append(led, string(link.Destination))
		}
		for _, to := range led {
			file, anchor := p.target(to)
			if problem := s.wrong(file, anchor); problem != "" {
				problems = append(problems, fmt.Errorf("%s: %s: %s", name, to, problem))
			}
		}
	}
	reached := s.reached(index)
	for _, name := range s.names() {
		if !reached[name] {
			problems = append(problems, fmt.Errorf("%s: no link leads here from %s", name, index))
		}
	}
	named, err := s.named()
	return append(problems, named...), err
}

func (s *site) names() []string {
	var names []string
	for name := range s.pages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// wrong says why nothing is at an anchor of a file, or returns "".
func (s *site) wrong(file, anchor string) string {
	if file == "" {
		return ""
	}
	if _, err := fs.Stat(s.files, file); err != nil {
		return "there is no such file"
	}
	if p := s.pages[file]; p != nil && anchor != "" && !p.anchors[anchor] {
		return "there is no such heading"
	}
	return ""
}

// reached returns the pages that links lead to, from a page on.
func (s *site) reached(from string) map[string]bool {
	reached := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		p := s.pages[next[0]]
		for _, link := range links(p.tree) {
			file, _ := p.target(string(link.Destination))
			if s.pages[file] != nil && !reached[file] {
				reached[file] = true
				next = append(next, file)
			}
		}
	}
	return reached
}

var (
	sources = regexp.MustCompile(`(^Makefile|\.(go|mk|sh|yaml|pml))$`)
	naming  = regexp.MustCompile(`(?:^|[^\w./-])(docs/[\w/-]+\.md)(?:#([\w-]+))?`)
)

// named returns which pages are named in sources, and are not there.
func (s *site) named() ([]error, error) {
	var problems []error
	err := fs.WalkDir(s.files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "dist" || name == ".git" || name == "hack/site"):
			return fs.SkipDir
		case entry.IsDir() || !sources.MatchString(name):
			return nil
		}
		source, err := fs.ReadFile(s.files, name)
		for _, found := range naming.FindAllStringSubmatch(string(source), -1) {
			if problem := s.wrong(found[1], found[2]); problem != "" {
				problems = append(problems, fmt.Errorf("%s: %s: %s", name, found[0], problem))
			}
		}
		return err
	})
	return problems, err
}
