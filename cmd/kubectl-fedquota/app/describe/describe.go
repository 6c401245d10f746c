// Package describe shows a budget and who holds it.
package describe

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

const (
	long = `Show a budget and who holds it: what is used and granted of each resource, what each
cluster holds, and what the conditions mean. Without a name, all budgets of the namespace.

In a member it shows the QuotaShare: the part of the budget that this cluster enforces.
Where an API server has both, NAME is a FederatedQuota, and qs/NAME a QuotaShare.

GRANTED is the most that a cluster may be enforcing or using, as far as the hub knows. It
counts against the budget. TARGET is what the hub wants the limit to be.`

	example = `  # A budget, on the hub
  kubectl fedquota describe compute -n team-a

  # What one cluster holds of one resource
  kubectl fedquota describe compute -n team-a --cluster east --resource requests.cpu`
)

// Options says what to describe.
type Options struct {
	env      *cli.Env
	cluster  string
	resource string
	events   bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "describe [NAME]",
		Short:             "Show a budget and who holds it",
		Long:              long,
		Example:           example,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	command.Flags().StringVar(&o.cluster, "cluster", "", "Show this cluster alone.")
	command.Flags().StringVar(&o.resource, "resource", "", "Show this resource name alone, such as requests.cpu.")
	command.Flags().BoolVar(&o.events, "show-events", true, "Show the latest events, too.")
	env.CompleteClusters(command, "cluster")
	env.CompleteResources(command, "resource")
	return command
}

func (o *Options) run(ctx context.Context, args []string) error {
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace, err := o.env.Namespace()
	if err != nil {
		return err
	}
	objects, err := o.find(ctx, c, namespace, args)
	if err != nil {
		return err
	}
	page := o.env.Page(o.env.Out)
	for i, object := range objects {
		if i > 0 {
			page.Printf("\n\n")
		}
		if err := o.describe(ctx, c, page, object); err != nil {
			return err
		}
	}
	return page.Err()
}

// find returns the object that is named, or all there are.
func (o *Options) find(ctx context.Context, c client.Client, namespace string, args []string) ([]client.Object, error) {
	if len(args) > 0 {
		object, err := cli.Find(ctx, c, namespace, args[0])
		return []client.Object{object}, err
	}
	held, err := cli.FindAll(ctx, c, namespace, cli.AnyKind)
	if err != nil {
		return nil, err
	}
	objects := held.Objects()
	if len(objects) == 0 {
		_, _ = fmt.Fprintf(o.env.ErrOut, "No budgets found in namespace %s.\n", namespace)
	}
	return objects, nil
}

func (o *Options) describe(ctx context.Context, c client.Client, page *text.Page, object client.Object) error {
	view := view{Page: page, now: o.env.Clock.Now(), cluster: o.cluster, resource: corev1.ResourceName(o.resource)}
	switch object := object.(type) {
	case *quotav1alpha1.FederatedQuota:
		if err := view.check(object); err != nil {
			return err
		}
		view.budget(object)
	case *quotav1alpha1.QuotaShare:
		if o.cluster != "" {
			return fmt.Errorf("--cluster %s: only FederatedQuotas have clusters, and %s is a QuotaShare", o.cluster, object.Name)
		}
		view.share(object)
	}
	if o.events {
		view.events(cli.EventsOf(ctx, c, object))
	}
	return nil
}
