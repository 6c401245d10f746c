package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// function is one of the product: where it stands, its text, and the names that it declares itself.
type function struct {
	file       string // relative to the root
	start, end int    // of the text in the file
	text       string
	locals     map[string]bool
}

// functions are those of the product, by name: "Type.Method" or "Func".
type functions map[string][]function

// productFolders are where the product is. Tests and tools are no part of it.
var productFolders = []string{"api", "cmd", "controllers", "internal", "webhooks"}

// readFunctions reads the functions of the product.
func readFunctions(root string) (functions, error) {
	found := functions{}
	for _, folder := range productFolders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return found.read(root, path)
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f functions) read(root, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	for _, declaration := range parsed.Decls {
		if d, ok := declaration.(*ast.FuncDecl); ok {
			start, end := files.Position(d.Pos()).Offset, files.Position(d.End()).Offset
			f[nameOf(d)] = append(f[nameOf(d)], function{name, start, end, string(content[start:end]), localsOf(d)})
		}
	}
	return nil
}

// nameOf returns the name of a function, with the type of its receiver.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	return fmt.Sprint(receiver) + "." + d.Name.Name
}

// localsOf returns the names that a function declares: of its receiver, parameters, results and variables.
func localsOf(d *ast.FuncDecl) map[string]bool {
	locals := map[string]bool{}
	note := func(nodes ...ast.Expr) {
		for _, node := range nodes {
			if id, ok := node.(*ast.Ident); ok {
				locals[id.Name] = true
			}
		}
	}
	ast.Inspect(d, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				note(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				note(n.Lhs...)
			}
		case *ast.RangeStmt:
			note(n.Key, n.Value)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				note(id)
			}
		}
		return true
	})
	return locals
}

// find returns the function of a name, which may stand behind the folder of its package: "internal/shares.New".
func (f functions) find(name string) (function, error) {
	folder, short := "", name
	if slash := strings.LastIndex(name, "/"); slash >= 0 {
		dot := slash + strings.Index(name[slash:], ".")
		folder, short = name[:dot], name[dot+1:]
	}
	found := slices.DeleteFunc(slices.Clone(f[short]), func(one function) bool {
		return folder != "" && filepath.Dir(one.file) != folder
	})
	if len(found) != 1 {
		return function{}, fmt.Errorf("there are %d functions %s, want one: name the folder of its package before it", len(found), name)
	}
	return found[0], nil
}

// word is a token of a source.
type word struct {
	kind       token.Token
	text       string
	start, end int
	member     bool // it stands behind a dot
}

// words returns the tokens of a piece of source, without comments and ends of lines: how it is formatted does not
// matter.
func words(text string) []word {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	var list []word
	for {
		pos, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return list
		case kind == token.SEMICOLON && literal == "\n":
			continue
		case literal == "":
			literal = kind.String()
		}
		start := file.Offset(pos)
		member := len(list) > 0 && list[len(list)-1].kind == token.PERIOD
		list = append(list, word{kind, literal, start, start + len(literal), member})
	}
}

// replace returns the text of the function in which new stands for old, which it holds once. Names of variables do not
// matter: old may call them otherwise, as long as it does so throughout.
func (f function) replace(old, replacement string) (string, error) {
	here, pattern := words(f.text), words(old)
	type match struct {
		start, end int
		names      map[string]string
	}
	var found []match
	for i := 0; i+len(pattern) <= len(here); i++ {
		if names, ok := f.matches(here[i:i+len(pattern)], pattern); ok {
			found = append(found, match{here[i].start, here[i+len(pattern)-1].end, names})
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s holds what is to be taken out %d times, want once: %q", f.file, len(found), old)
	}
	m := found[0]
	return f.text[:m.start] + renamed(replacement, m.names) + f.text[m.end:], nil
}

// matches says whether two lists of tokens are the same but for the names of variables, and how these are called here.
func (f function) matches(here, pattern []word) (map[string]string, bool) {
	names := map[string]string{}
	for i, p := range pattern {
		h := here[i]
		switch {
		case p.kind != h.kind:
			return nil, false
		case p.kind == token.IDENT && !p.member && !h.member && f.locals[h.text]:
			if known, ok := names[p.text]; ok && known != h.text {
				return nil, false
			}
			names[p.text] = h.text
		case p.text != h.text:
			return nil, false
		}
	}
	return names, true
}

// renamed returns a piece of source with other names of variables.
func renamed(text string, names map[string]string) string {
	var b strings.Builder
	last := 0
	for _, w := range words(text) {
		if name, ok := names[w.text]; ok && w.kind == token.IDENT && !w.member {
			b.WriteString(text[last:w.start] + name)
			last = w.end
		}
	}
	return b.String() + text[last:]
}
