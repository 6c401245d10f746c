package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/internal/bundle"
)

// newBundleCommand returns the command that prints the manifests of the agent, for those whose GitOps tool installs them.
func newBundleCommand() *cobra.Command {
	var options bundle.Options
	command := &cobra.Command{
		Use:   "bundle",
		Short: "Print the manifests of the agent that the hub manager installs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return printBundle(command.OutOrStdout(), options)
		},
	}
	command.Flags().StringVar(&options.Image, "agent-image", image, "Image of the agents.")
	command.Flags().StringVar(&options.Namespace, "agent-namespace", systemNamespace, "Namespace of the agents.")
	return command
}

func printBundle(out io.Writer, options bundle.Options) error {
	objects, err := bundle.Objects(options)
	if err != nil {
		return err
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
