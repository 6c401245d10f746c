//go:build e2e

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// page is where the page is written, which make native copies to docs.
var page = filepath.Join("..", "..", "bin", "e2e", "native.md")

// writePage writes what the rows showed.
func writePage(version string, rows []row, seen map[string]sight) error {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, version)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| %s | limits at first | limits when `east` has all | limits with room made | |\n|%s---|---|---|---|\n",
			s.title, s.text, strings.Join(s.columns, " | "), strings.Repeat("---|", len(s.columns)))
		for i := range rows {
			if r := &rows[i]; r.section == s.title {
				fmt.Fprintf(&b, "| %s |%s %s |\n", strings.Join(s.cells(r), " | "), seen[r.title()].columns(), seen[r.title()].note)
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(b.String()), 0o600)
}

// columns are the limits of both members at the three moments.
func (s sight) columns() string {
	var b strings.Builder
	for _, limits := range s.limits {
		cell := ""
		if limits != [2]resource.Quantity{} {
			cell = limits[0].String() + " + " + limits[1].String()
		}
		fmt.Fprintf(&b, " %s |", cell)
	}
	return b.String()
}

// table is a part of the page.
type table struct {
	title   section
	text    string
	columns []string
	cells   func(*row) []string
}

var sections = []table{
	{sectionNames, "The names to which Kubernetes gives a meaning. `gold` and `gpu` stand for classes, `nvidia.com/gpu` for any extended resource.",
		[]string{"name", "object", "charge"}, func(r *row) []string { return []string{code(r.name), r.kind(), r.unit} }},
	{sectionCounts, "Every kind of object that a member serves in namespaces, but for events, which no quota counts, and `QuotaShare`, which the hub alone\n" +
		"may create. `widgets.example.com` is a custom resource. In each namespace are a `ConfigMap` and a `ServiceAccount` that Kubernetes makes, and\n" +
		"the `ResourceQuota` itself: those are charged, too.",
		[]string{"name", "object", "charge"}, func(r *row) []string { return []string{code(r.name), r.kind(), r.unit} }},
	{sectionScopes, "Once `east` has all, an object that the scope leaves out is created there, and not charged.",
		[]string{"scope", "name", "charge"}, func(r *row) []string { return []string{r.what, code(r.name), r.unit} }},
	{sectionFeatures, "What decides what an object is charged beyond its own text, and what changes its charge while it is there.",
		[]string{"what", "name", "charge"}, func(r *row) []string { return []string{r.what, code(r.name), r.unit} }},
}

func code(text string) string { return "`" + text + "`" }

// kind is that of the object.
func (r *row) kind() string {
	var object struct{ Kind string }
	if err := yaml.Unmarshal([]byte(r.object), &object); err != nil {
		return err.Error()
	}
	return object.Kind
}

const preamble = `# What native quota counts, over two clusters

Written by ` + "`make native`" + `. It starts a hub and the members ` + "`east` and `west`" + ` as real control planes of Kubernetes %s with the whole
product on them, and plays each row with real objects in a namespace of its own. It writes this page if every row is as it shall be.

`
