package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// ofControllers are metrics of controller-runtime that dashboards show.
var ofControllers = map[string]bool{
	"controller_runtime_reconcile_total": true, "controller_runtime_reconcile_errors_total": true,
	"controller_runtime_reconcile_time_seconds_bucket": true, "rest_client_requests_total": true,
}

// TestDashboards has each panel ask for metrics that there are, in PromQL, and each variable be used.
func TestDashboards(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../config/grafana/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var board struct {
				Panels []struct {
					Title, Type string
					Targets     []struct{ Expr string }
					Panels      []any
				}
				Templating struct{ List []struct{ Name string } }
			}
			if err := json.Unmarshal(content, &board); err != nil {
				t.Fatal(err)
			}
			for _, v := range board.Templating.List {
				if !regexp.MustCompile(`\$\{?` + v.Name + `\b`).Match(content) {
					t.Errorf("nothing uses variable %s", v.Name)
				}
			}
			for _, panel := range board.Panels {
				if len(panel.Panels) > 0 {
					t.Errorf("row %s is folded: its panels are not looked at", panel.Title)
				}
				if panel.Type != "row" && len(panel.Targets) == 0 {
					t.Errorf("panel %s asks for nothing", panel.Title)
				}
				for _, target := range panel.Targets {
					for _, name := range namesIn(t, target.Expr) {
						family := strings.TrimSuffix(name, "_bucket")
						if !ofControllers[name] && !strings.Contains(string(page), "`"+family+"`") {
							t.Errorf("panel %s asks for %s, which nobody exports", panel.Title, name)
						}
					}
				}
			}
		})
	}
}

// namesIn returns the metrics that an expression of a panel asks for.
func namesIn(t *testing.T, expr string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expr, "$__rate_interval", "5m"))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	if len(names) == 0 {
		t.Errorf("%s names no metric", expr)
	}
	return names
}
