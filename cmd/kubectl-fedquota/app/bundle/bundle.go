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
	command := bundle.NewCommand(env.Build.Image)
	command.Long, command.Example = long, example
	return command
}
