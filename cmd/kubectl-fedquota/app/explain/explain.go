// Package explain says why each limit of a budget is what it is.
package explain

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/shares"
)

const (
	long = `Say why each limit of a budget is what it is: what the cluster needs, what it lends, what
others lend to it, and what the next change waits for. Run it on the hub. Of qp/POOL it says
why each child of a QuotaPool has what it has. Of what is in a pool it says, too, at which
level of the tree there is none left.

It reads the ledger and asks every cluster, and has the hub manager's own code say why. It
asks members by their kubeconfig Secrets; who may not read these gets an answer by what
the hub has stored last.`

	example = `  # Why all limits are what they are
  kubectl fedquota explain compute -n team-a

  # Why one cluster has no more CPUs
  kubectl fedquota explain compute -n team-a --cluster west --resource requests.cpu

  # Why the children of a pool have what they have
  kubectl fedquota explain qp/research

  # The same for a script
  kubectl fedquota explain compute -n team-a -o json`
)

// Options says what to explain.
type Options struct {
	env    *cli.Env
	live   live.Options
	only   view.Only
	output cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "explain [KIND/]NAME",
		Short:             "Say why each limit is what it is",
		Long:              long,
		Example:           example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	flags := command.Flags()
	flags.StringVar(&o.only.Cluster, "cluster", "", "Explain the limits of this cluster alone.")
	flags.StringVar((*string)(&o.only.Resource), "resource", "", "Explain the limits of this resource name alone, such as requests.cpu.")
	o.output.Bind(command)
	o.live.Bind(flags)
	env.CompleteClusters(command, "cluster")
	env.CompleteResources(command, "resource")
	return command
}

func (o *Options) run(ctx context.Context, arg string) error {
	hub, namespace, err := o.env.ClientAndNamespace()
	if err != nil {
		return err
	}
	object, err := cli.Find(ctx, hub, namespace, arg)
	if err != nil {
		return err
	}
	if err := cli.Check(object, o.only); err != nil {
		return err
	}
	if p, ok := object.(*quotav1alpha1.QuotaPool); ok {
		return o.pool(ctx, hub, p)
	}
	fq, ok := object.(*quotav1alpha1.FederatedQuota)
	if !ok {
		return fmt.Errorf("QuotaShare %s: a member knows its limit, and not why: ask on the hub, or see kubectl fedquota why", arg)
	}
	fleet, err := live.Read(ctx, o.env, hub, client.ObjectKeyFromObject(fq), fq, o.live)
	if err != nil {
		return err
	}
	e := Of(ctx, hub, fq, fleet, o.only)
	return o.output.Print(o.env.Out, e, func() error { return show(o.env.Page(o.env.Out), e) })
}

// Of explains the limits of a FederatedQuota, of which a fleet was read.
func Of(
	ctx context.Context, hub client.Reader, fq *quotav1alpha1.FederatedQuota, fleet *live.Fleet, only view.Only,
) *view.Explanation {
	in := fleet.Input(fq)
	s := &sentences{
		formats: fq.Spec.Hard, unseen: fq.Status.Revision == 0, account: shares.New(in).Explain(),
		static: in.Split.Static, only: only,
	}
	e := s.explanation(&view.Explanation{Namespace: fq.Namespace, Name: fq.Name, Hints: fleet.Hints})
	e.Pool = cli.PoolOf(ctx, hub, fq, only)
	e.Climb = cli.ClimbOf(ctx, hub, fq, only)
	return e
}
