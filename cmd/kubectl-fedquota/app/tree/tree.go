// Package tree shows pools, what is below them, and who lends to whom.
package tree

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	long = `Show pools and what is below them: what each of them uses, has and may have, and who lends
to whom. Run it on the hub. With the name of a pool, the tree below it.

BUDGET is what somebody may have at most by itself, GRANTED what it has of its pool (of a
root, what it has granted), and FREE what a pool can hand out at once. PART is what falls
to it by weight, min and max alone: who has less while a neighbour has more lends to it.`

	example = `  # All trees
  kubectl fedquota tree

  # What is below one pool, of one resource
  kubectl fedquota tree research --resource requests.cpu

  # The same for a script
  kubectl fedquota tree research -o json`
)

// Options says what to show, and how.
type Options struct {
	env    *cli.Env
	only   view.Only
	output cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "tree [POOL]",
		Short:             "Show pools, what is below them, and who lends to whom",
		Long:              long,
		Example:           example,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.CompletePools(),
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	command.Flags().StringVar((*string)(&o.only.Resource), "resource", "", "Show this resource name alone, such as requests.cpu.")
	o.output.Bind(command)
	return command
}

func (o *Options) run(ctx context.Context, args []string) error {
	pool, err := cli.Pool(args)
	if err != nil {
		return err
	}
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	var pools quotav1alpha1.QuotaPoolList
	if err := c.List(ctx, &pools); err != nil {
		return cli.Served(err)
	}
	var quotas quotav1alpha1.FederatedQuotaList
	// Who may not read those of all namespaces sees what pools say of them.
	if err := c.List(ctx, &quotas); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	trees := view.ForestOf(pools.Items, quotas.Items, o.only).Trees(pool)
	if pool != "" && len(trees) == 0 {
		return cli.NoPool(pool, pools.Items)
	}
	if err := o.check(pools.Items); err != nil {
		return err
	}
	if len(trees) == 0 {
		_, _ = fmt.Fprintln(o.env.ErrOut, "No QuotaPools found.")
	}
	return o.output.Print(o.env.Out, trees, func() error { return o.print(trees) })
}

// check says whether any pool limits the resource that alone is to be shown.
func (o *Options) check(pools []quotav1alpha1.QuotaPool) error {
	var err error
	for i := range pools {
		if err = cli.Check(cli.Typed(&pools[i]), o.only); err == nil {
			return nil
		}
	}
	return err
}
