// The program writes the Grafana dashboards of config/grafana, as JSON, into a folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// dashboards are made by functions of the name of their file.
var dashboards = map[string]func() *dashboard.DashboardBuilder{
	"fleet": fleet, "budget": budget, "cluster": cluster, "operator": operator,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	for name, build := range dashboards {
		if err := write(filepath.Join(os.Args[1], "fedquota-"+name+".json"), build()); err != nil {
			fmt.Fprintln(os.Stderr, "dashboards:", err)
			os.Exit(1)
		}
	}
}

func write(path string, builder *dashboard.DashboardBuilder) error {
	built, err := builder.Build()
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}
