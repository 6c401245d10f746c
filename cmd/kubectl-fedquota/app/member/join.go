package member

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

const (
	longJoin = `Take a cluster into budgets of the namespace. The cluster has a Cluster of Cluster API on the
hub. It gets the labels that the selector of each budget asks for, or its name is put on
the list of the budget. Then it waits until the cluster enforces its part.

The hub manager installs the agent there, unless it runs with --install-agents=false.

It ends with 2 if the cluster does not enforce its part within --timeout.`

	exampleJoin = `  # Take a cluster into a budget
  kubectl fedquota join north --budget compute -n team-a

  # Say what would be written
  kubectl fedquota join north --budget compute,gpus -n team-a --dry-run`
)

// NewJoinCommand returns the command that takes a cluster into budgets.
func NewJoinCommand(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	command := &cobra.Command{
		Use:               "join CLUSTER --budget NAME",
		Short:             "Take a cluster into budgets",
		Long:              longJoin,
		Example:           exampleJoin,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteAPIClusters(&o.live.Clusters),
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.check(command.Flags()); err != nil {
				return err
			}
			return o.join(command.Context(), args[0])
		},
	}
	command.Flags().StringSliceVar(&o.budgets, "budget", nil, "Budgets of the namespace to take it into.")
	_ = command.MarkFlagRequired("budget")
	o.bind(command.Flags())
	env.CompleteBudgets(command, "budget")
	return command
}

func (o *options) join(ctx context.Context, name string) error {
	w, err := o.begin(ctx, name)
	if err != nil {
		return err
	}
	if w.cluster == nil {
		return fmt.Errorf("there is no Cluster %s: Cluster API makes it. For a cluster that Cluster API did not make, the hub manager "+
			"makes it of a kubeconfig Secret with the label "+quotav1alpha1.JoinLabel+"=true", o.live.Clusters.Key(name))
	}
	set := map[string]any{}
	var waiting []client.ObjectKey
	for i := range w.budgets {
		if err := w.enter(ctx, &w.budgets[i], set); err != nil {
			return err
		}
		waiting = append(waiting, client.ObjectKeyFromObject(&w.budgets[i]))
	}
	if err := w.set(ctx, set); err != nil {
		return err
	}
	return w.await(ctx, waiting, func(fq *quotav1alpha1.FederatedQuota) bool {
		e := w.entry(fq)
		return e != nil && e.State == quotav1alpha1.ClusterSettled
	})
}

// enter puts the cluster on the list of a budget, or adds the labels that its selector asks for to those to set.
func (w *work) enter(ctx context.Context, fq *quotav1alpha1.FederatedQuota, set map[string]any) error {
	switch selector := fq.Spec.Placement.ClusterSelector; {
	case w.selects(fq):
		w.Printf("federatedquota/%s in %s: selects %s already\n", fq.Name, fq.Namespace, w.name)
	case selector == nil:
		clusters := append(slices.Clone(fq.Spec.Placement.Clusters), quotav1alpha1.ClusterName(w.name))
		return w.place(ctx, fq, clusters, fmt.Sprintf("federatedquota/%s in %s: %s is on spec.placement.clusters", fq.Name, fq.Namespace, w.name))
	case len(selector.MatchExpressions) > 0:
		return fmt.Errorf("the selector of FederatedQuota %s/%s is %s: label the Cluster yourself so that it matches",
			fq.Namespace, fq.Name, metav1.FormatLabelSelector(selector))
	default:
		return ask(selector.MatchLabels, set)
	}
	return nil
}

// ask adds labels to those to set, of which each has one value.
func ask(labels map[string]string, set map[string]any) error {
	for key, value := range labels {
		if other, taken := set[key]; taken && other != value {
			return fmt.Errorf("label %s: these budgets ask for %s and for %s, and a Cluster has one", key, other, value)
		}
		set[key] = value
	}
	return nil
}

// set labels the Cluster, and says which other budgets select it then.
func (w *work) set(ctx context.Context, set map[string]any) error {
	if len(set) == 0 {
		return nil
	}
	after := maps.Clone(w.cluster.Labels)
	if after == nil {
		after = map[string]string{}
	}
	for key, value := range set {
		after[key] = value.(string)
	}
	if held, err := cli.FindAll(ctx, w.hub, "", cli.FederatedQuota); err == nil {
		others := w.others(held.Budgets, func(selector *metav1.LabelSelector) bool {
			return !matches(selector, w.cluster.Labels) && matches(selector, after)
		})
		if len(others) > 0 {
			w.Paragraph(0, text.Yellow, "By these labels it comes into other budgets, too: "+strings.Join(others, ", "))
		}
	}
	return w.label(ctx, set)
}

// others returns those of the budgets that the command is not about and whose selector is such.
func (w *work) others(all []quotav1alpha1.FederatedQuota, such func(*metav1.LabelSelector) bool) []string {
	var others []string
	for i := range all {
		fq := &all[i]
		about := slices.ContainsFunc(w.budgets, func(b quotav1alpha1.FederatedQuota) bool { return b.UID == fq.UID })
		if selector := fq.Spec.Placement.ClusterSelector; !about && selector != nil && such(selector) {
			others = append(others, fq.Namespace+"/"+fq.Name)
		}
	}
	return others
}

func labelSet(of map[string]string) labels.Labels { return labels.Set(of) }

// orNil returns nil for an empty list, which a merge patch takes as removal.
func orNil[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}
