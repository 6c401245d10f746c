// The manager runs the hub manager in the management cluster, or the agent in a member.
package main

import (
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/cmd/manager/agent"
	"github.com/fedquota/fedquota/cmd/manager/hub"
	"github.com/fedquota/fedquota/internal/bundle"
)

func main() {
	limitMemory(cgroupLimit)
	if newRootCommand().ExecuteContext(ctrl.SetupSignalHandler()) != nil {
		os.Exit(1) // the command has said why
	}
}

// newRootCommand returns the command of the program. It prints its errors itself: those in flags come before there is a
// logger.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "manager",
		Short:        "One resource budget for a namespace over many Kubernetes clusters",
		SilenceUsage: true,
	}
	root.AddCommand(hub.NewCommand(image), agent.NewCommand(), bundle.NewCommand(image), newVersionCommand())
	return root
}
