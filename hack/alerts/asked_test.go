package alerts

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
)

var update = flag.Bool("update", false, "Write what dashboards and rules ask for.")

// asked is where that is listed: a metric with the labels that it must have in each line. The end-to-end tests hold it
// against what managers export under load.
const asked = "testdata/asked.txt"

// labelsOf are the labels that each metric must have, by its name.
type labelsOf map[string]map[string]bool

func (l labelsOf) add(metric string, labels ...string) {
	if l[metric] == nil {
		l[metric] = map[string]bool{}
	}
	for _, label := range labels {
		l[metric][label] = true
	}
}

// TestAsked lists what dashboards and rules ask for. What a rule records is not exported: what the rule asks for is.
func TestAsked(t *testing.T) {
	all, recorded := labelsOf{}, map[string]bool{}
	for _, rule := range parsed(t) {
		recorded[rule.Record] = true
		text := ""
		for _, annotation := range rule.Annotations {
			text += annotation
		}
		all.take(t, rule.Expr, submatches(`\$labels\.(\w+)`, text))
	}
	files, err := filepath.Glob("../../config/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		all.takeBoard(t, file)
	}
	var lines []string
	for _, metric := range slices.Sorted(maps.Keys(all)) {
		if !recorded[metric] {
			lines = append(lines, strings.TrimSpace(metric+" "+strings.Join(slices.Sorted(maps.Keys(all[metric])), ",")))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(asked, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("go -C hack/alerts test -run TestAsked -update . writes this into %s (-want +got):\n%s", asked, diff)
	}
}

// takeBoard takes what the panels and variables of a dashboard ask for.
func (l labelsOf) takeBoard(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct {
				Type  string
				Query any
			}
		}
	}
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			l.take(t, target.Expr, submatches(`\{\{(\w+)\}\}`, target.LegendFormat))
		}
	}
	for _, variable := range board.Templating.List {
		if variable.Type != "query" {
			continue
		}
		query, _ := variable.Query.(string)
		parts := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(query)
		if parts == nil {
			t.Errorf("%s: what does %v ask for?", file, variable.Query)
			continue
		}
		l.take(t, parts[1], parts[2:])
	}
}

// take takes what an expression asks for: each metric must have the labels that it is selected by, those that it is
// grouped by, and those that are shown.
func (l labelsOf) take(t *testing.T, expr string, shown []string) {
	t.Helper()
	node, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expr, "$__rate_interval", "5m"))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(node, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		l.add(selector.Name, shown...)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != "__name__" {
				l.add(selector.Name, matcher.Name)
			}
		}
		for _, above := range path {
			if aggregate, ok := above.(*parser.AggregateExpr); ok && !aggregate.Without {
				l.add(selector.Name, aggregate.Grouping...)
			}
		}
		return nil
	})
}

// submatches returns what the group of a pattern matches.
func submatches(pattern, text string) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
