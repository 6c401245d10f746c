package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/fedquota/fedquota/controllers/member"
)

// newAgentCommand returns the command that runs the agent.
func newAgentCommand() *cobra.Command {
	var options managerOptions
	command := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in a member",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			mgr, err := options.newManager("fedquota-agent", cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
			if err != nil {
				return err
			}
			canary := member.NewCanary(mgr.GetClient(), clock.RealClock{}, options.namespace)
			if err := canary.SetupWithManager(mgr); err != nil {
				return fmt.Errorf("setting up the canary: %w", err)
			}
			shares := &member.ShareReconciler{
				Client:   mgr.GetClient(),
				Clock:    clock.RealClock{},
				Recorder: mgr.GetEventRecorder("fedquota-agent"),
				Canary:   canary,
			}
			if err := shares.SetupWithManager(mgr); err != nil {
				return fmt.Errorf("setting up the share controller: %w", err)
			}
			return mgr.Start(command.Context())
		},
	}
	options.bind(command)
	return command
}
