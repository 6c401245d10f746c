// Package agent is the program of a member: its command, and the controllers that it runs.
package agent

import (
	"github.com/spf13/cobra"

	"github.com/fedquota/fedquota/cmd/manager/setup"
)

// NewCommand returns the command that runs the agent.
func NewCommand() *cobra.Command {
	var options setup.Options
	var webhook setup.Webhook
	command := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in a member",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			mgr, err := options.NewManager("fedquota-agent", cached(options.Namespace), webhook.Server())
			if err != nil {
				return err
			}
			ctx := webhook.Drained(command.Context())
			if err := setUp(ctx, mgr, options.Namespace, &webhook); err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
	}
	options.Bind(command)
	webhook.Bind(command.Flags())
	return command
}
