package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDashboards has each panel ask for something, and each variable be used.
func TestDashboards(t *testing.T) {
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
					Targets     []any
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
			}
		})
	}
}
