// Package bundle prints the manifests of the agent.
package bundle

import (
	"github.com/spf13/cobra"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/internal/bundle"
)

const (
	long = `Print the manifests of the agent that the hub manager installs in members, for those whose
GitOps tool installs them. The hub manager then needs --install-agents=false.`

	example = `  # What GitOps applies to members
  kubectl fedquota bundle --agent-image=REGISTRY/fedquota:v0.1.0 > agent.yaml

  # Take the agent out of a member that no budget selects any more
  kubectl fedquota bundle --agent-image=any | kubectl --context north delete -f -`
)

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	var options bundle.Options
	command := &cobra.Command{
		Use:     "bundle",
		Short:   "Print the manifests of the agent",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return bundle.Write(env.Out, options) },
	}
	command.Flags().StringVar(&options.Image, "agent-image", env.Build.Image, "Image of the agents.")
	command.Flags().StringVar(&options.Namespace, "agent-namespace", bundle.Namespace, "Namespace of the agents.")
	command.Flags().StringVar(&options.PriorityClass, "agent-priority-class", bundle.PriorityClass,
		"PriorityClass of the agents. Any other than that has to be in the cluster.")
	return command
}
