// Package why says, in a member, why a pod or a workload was refused or waits.
package why

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

const (
	long = `Say why a pod, or a workload that makes pods, was refused or waits: the share of this
cluster, another quota, a LimitRange, a webhook, or no node. Say since when, whether it
would fit now, what all clusters have left, and what to do. Run it in the member.

A name without a kind is that of a Deployment, StatefulSet, Job, ReplicaSet, Pod, DaemonSet
or ReplicationController. An event leads to what it is about. The role view of the
namespace is enough.

On the hub, why fq/NAME says why a budget in a QuotaPool does not get more, and qp/NAME why
a pool does not: what it has, who lends, and at which level of the tree there is none left.

It ends with 0 if nothing is refused or waits, and with 2 if something is.`

	example = `  # Why a Deployment does not get its pods
  kubectl fedquota why web -n team-a

  # Why a pod does not start, and what an event is about
  kubectl fedquota why pod/web-6d4cf56db6-2xkqf -n team-a
  kubectl fedquota why event/web-6d4cf56db6.18a2f -n team-a

  # Why a budget does not get more of its pools, on the hub
  kubectl fedquota why fq/compute -n team-a`
)

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	var output cli.Output
	command := &cobra.Command{
		Use:               "why [KIND/]NAME",
		Short:             "Say why a pod or a workload was refused or waits",
		Long:              long,
		Example:           example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteWorkloads(),
		RunE: func(command *cobra.Command, args []string) error {
			return run(command.Context(), env, args[0], output)
		},
	}
	output.Bind(command)
	return command
}

func run(ctx context.Context, env *cli.Env, arg string, output cli.Output) error {
	c, namespace, err := env.ClientAndNamespace()
	if err != nil {
		return err
	}
	if kind, _, err := cli.ParseName(arg); err == nil && (kind == cli.FederatedQuota || kind == cli.QuotaPool) {
		return climb(ctx, env, c, namespace, arg, output)
	}
	s, err := find(ctx, c, namespace, arg)
	if err != nil {
		return err
	}
	around, err := look(ctx, c, s)
	if err != nil {
		return err
	}
	now := env.Clock.Now()
	v := (&answer{now: metav1.NewTime(now), subject: s, around: around}).view()
	p := &printer{Page: env.Page(env.Out), Answer: v, now: now}
	if err := output.Print(env.Out, v, p.print); err != nil || !v.Waits {
		return err
	}
	return cli.ErrNo
}

// notFound is that nothing of the name is there.
func notFound(namespace, name string) error {
	return fmt.Errorf("there is no Deployment, StatefulSet, Job, ReplicaSet, Pod, DaemonSet or ReplicationController %q in namespace %s; see --context: it is read in the member", name, namespace)
}

// inNamespace are the options to list what is in the namespace of a subject.
func inNamespace(s *subject) client.ListOption { return client.InNamespace(s.object.GetNamespace()) }
