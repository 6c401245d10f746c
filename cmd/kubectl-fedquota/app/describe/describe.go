// Package describe shows a budget and who holds it.
package describe

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	long = `Show a budget and who holds it: what is used and granted of each resource, what each
cluster holds, and what the conditions mean. Without a name, all budgets of the namespace.

In a member it shows the QuotaShare: the part of the budget that this cluster enforces.
Where an API server has both, NAME is a FederatedQuota, and qs/NAME a QuotaShare. qp/NAME
is a QuotaPool, and shows what each of its children holds.

GRANTED is the most that a cluster may be enforcing or using, as far as the hub knows. It
counts against the budget. TARGET is what the hub wants the limit to be.`

	example = `  # A budget, on the hub
  kubectl fedquota describe compute -n team-a

  # What one cluster holds of one resource
  kubectl fedquota describe compute -n team-a --cluster east --resource requests.cpu

  # The same for a script
  kubectl fedquota describe compute -n team-a -o json`
)

// Options says what to describe.
type Options struct {
	env    *cli.Env
	only   view.Only
	events bool
	output cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "describe [[KIND/]NAME]",
		Short:             "Show a budget and who holds it",
		Long:              long,
		Example:           example,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	command.Flags().StringVar(&o.only.Cluster, "cluster", "", "Show this cluster alone.")
	command.Flags().StringVar((*string)(&o.only.Resource), "resource", "", "Show this resource name alone, such as requests.cpu.")
	command.Flags().BoolVar(&o.events, "show-events", true, "Show the latest events, too.")
	o.output.Bind(command)
	env.CompleteClusters(command, "cluster")
	env.CompleteResources(command, "resource")
	return command
}

func (o *Options) run(ctx context.Context, args []string) error {
	c, namespace, err := o.env.ClientAndNamespace()
	if err != nil {
		return err
	}
	objects, err := o.find(ctx, c, namespace, args)
	if err != nil {
		return err
	}
	views := make([]any, len(objects))
	for i, object := range objects {
		if views[i], err = o.viewOf(ctx, c, object); err != nil {
			return err
		}
	}
	var answer any = views
	if len(args) > 0 {
		answer = views[0]
	}
	return o.output.Print(o.env.Out, answer, func() error { return o.print(views) })
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

// viewOf returns what is to be shown of an object.
func (o *Options) viewOf(ctx context.Context, c client.Client, object client.Object) (any, error) {
	if err := cli.Check(object, o.only); err != nil {
		return nil, err
	}
	switch object := object.(type) {
	case *quotav1alpha1.FederatedQuota:
		b := view.BudgetOf(object, o.only)
		b.Pool = cli.PoolOf(ctx, c, object, o.only)
		o.addEvents(ctx, c, object, &b.Head)
		return b, nil
	case *quotav1alpha1.QuotaPool:
		b := view.PoolBudgetOf(object, o.only)
		b.Parent = cli.ParentOf(ctx, c, object, o.only)
		o.addEvents(ctx, c, object, &b.Head)
		return b, nil
	case *quotav1alpha1.QuotaShare:
		s := view.ShareOf(object, o.only)
		o.addEvents(ctx, c, object, &s.Head)
		return s, nil
	}
	return nil, fmt.Errorf("%T holds no budget", object)
}

// addEvents adds the latest events, or why there are none to show.
func (o *Options) addEvents(ctx context.Context, c client.Client, object client.Object, head *view.Head) {
	if !o.events {
		return
	}
	events, err := cli.EventsOf(ctx, c, object)
	switch {
	case err != nil && cli.MissingRight(err) != "":
		head.EventsHidden = "you lack the right to " + cli.MissingRight(err)
	case err != nil:
		head.EventsHidden = err.Error()
	}
	for i := range events {
		e := &events[i]
		head.Events = append(head.Events, view.Event{Time: cli.LastSeen(e), Reason: e.Reason, Message: e.Message})
	}
}

// print prints for people.
func (o *Options) print(views []any) error {
	p := printer{Page: o.env.Page(o.env.Out), now: o.env.Clock.Now()}
	for i, shown := range views {
		if i > 0 {
			p.Printf("\n\n")
		}
		switch shown := shown.(type) {
		case *view.Budget:
			p.budget(shown)
		case *view.PoolBudget:
			p.pool(shown)
		case *view.Share:
			p.share(shown)
		}
	}
	return p.Err()
}
