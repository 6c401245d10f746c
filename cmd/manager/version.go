package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// version, commit and image, the image that holds the program, are set by the linker, as in -X main.version=v0.1.0. A
// plain build leaves them empty: what Go itself recorded stands in for the first two then.
var version, commit, image string

// reportedModules are the libraries that decide with which Kubernetes and Cluster API the program speaks.
var reportedModules = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/cluster-api", "sigs.k8s.io/controller-runtime",
}

// newVersionCommand returns the command that says what the program was built from.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and the versions of Go and of the Kubernetes libraries",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			return printVersion(command.OutOrStdout(), info)
		},
	}
}

// printVersion writes a line per fact: its name, a colon, its value.
func printVersion(out io.Writer, info *debug.BuildInfo) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	line := func(name, value string) { _, _ = fmt.Fprintf(table, "%s:\t%s\n", name, cmp.Or(value, "unknown")) }
	line("version", cmp.Or(version, info.Main.Version))
	line("commit", cmp.Or(commit, setting(info, "vcs.revision")))
	line("go", runtime.Version())
	line("platform", runtime.GOOS+"/"+runtime.GOARCH)
	for _, module := range info.Deps {
		if slices.Contains(reportedModules, module.Path) {
			line(module.Path, module.Version)
		}
	}
	return table.Flush()
}

// setting returns what Go recorded under a key when it built the program.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
