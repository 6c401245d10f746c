// The manager runs the hub manager in the management cluster, or the agent in a member.
package main

import (
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	root := &cobra.Command{
		Use:           "manager",
		Short:         "One resource budget for a namespace over many Kubernetes clusters",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newHubCommand(), newAgentCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		ctrl.Log.Error(err, "The manager ended")
		os.Exit(1)
	}
}
