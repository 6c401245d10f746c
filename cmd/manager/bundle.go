package main

import (
	"github.com/spf13/cobra"

	"github.com/fedquota/fedquota/internal/bundle"
)

// newBundleCommand returns the command that prints the manifests of the agent, for those whose GitOps tool installs
// them.
func newBundleCommand() *cobra.Command {
	var options bundle.Options
	command := &cobra.Command{
		Use:   "bundle",
		Short: "Print the manifests of the agent that the hub manager installs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return bundle.Write(command.OutOrStdout(), options)
		},
	}
	command.Flags().StringVar(&options.Image, "agent-image", image, "Image of the agents.")
	command.Flags().StringVar(&options.Namespace, "agent-namespace", systemNamespace, "Namespace of the agents.")
	command.Flags().StringVar(&options.PriorityClass, "agent-priority-class", bundle.PriorityClass, "PriorityClass of the agents.")
	return command
}
