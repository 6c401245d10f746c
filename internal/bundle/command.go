package bundle

import "github.com/spf13/cobra"

// NewCommand returns the command that prints the manifests of the agent, for those whose GitOps tool installs them. The
// image is that of the agents, unless a flag names another one.
func NewCommand(image string) *cobra.Command {
	var options Options
	command := &cobra.Command{
		Use:   "bundle",
		Short: "Print the manifests of the agent that the hub manager installs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return Write(command.OutOrStdout(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Image, "agent-image", image, "Image of the agents.")
	flags.StringVar(&options.Namespace, "agent-namespace", Namespace, "Namespace of the agents.")
	flags.StringVar(&options.PriorityClass, "agent-priority-class", PriorityClass,
		"PriorityClass of the agents. Any other than that has to be in the cluster.")
	flags.BoolVar(&options.ScaleOut, "scale-out", false,
		"Let the hub manager read what it needs of members with --scale-out.")
	return command
}
