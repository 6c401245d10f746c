package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

const (
	longLeave = `Take a cluster out of all budgets that select it, or out of those that --budget names in the
namespace. It takes the label off the Cluster by which a selector selects it, or its name
off the list of a budget. Then it waits, and says what the cluster has not given back.

Nothing that runs is touched: limits follow usage down, and what is given back goes to the
others. The hub manager removes no agent.

With --destroyed it says that the cluster is gone for good, with a reason: what it was
granted is free at once, in all budgets. If the cluster still runs, that breaks the promise
that the budget is never exceeded. A cluster that answers is refused.

It ends with 2 if the cluster has not left within --timeout.`

	exampleLeave = `  # Take a cluster out of all budgets
  kubectl fedquota leave north

  # A cluster is gone for good
  kubectl fedquota leave north --destroyed "its region is gone"`
)

// leaveOptions are those of leave.
type leaveOptions struct {
	options

	destroyed string
	label     string
}

// NewLeaveCommand returns the command that takes a cluster out of budgets.
func NewLeaveCommand(env *cli.Env) *cobra.Command {
	o := &leaveOptions{options: options{env: env}}
	command := &cobra.Command{
		Use:               "leave CLUSTER",
		Short:             "Take a cluster out of budgets",
		Long:              longLeave,
		Example:           exampleLeave,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteAPIClusters(&o.live.Clusters),
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.check(command.Flags()); err != nil {
				return err
			}
			if command.Flags().Changed("destroyed") && strings.TrimSpace(o.destroyed) == "" {
				return errors.New("--destroyed: must not be empty: it is what others read of why the cluster was given up")
			}
			return o.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.budgets, "budget", nil, "Take it out of these budgets of the namespace alone.")
	env.CompleteBudgets(command, "budget")
	flags.StringVar(&o.destroyed, "destroyed", "", "Reason for which the cluster is gone for good.")
	flags.StringVar(&o.label, "label", "", "Label to take off the Cluster, where a selector asks for several.")
	o.bind(flags)
	return command
}

func (o *leaveOptions) run(ctx context.Context, name string) error {
	w, err := o.begin(ctx, name)
	if err != nil {
		return err
	}
	if o.destroyed != "" {
		return w.destroyed(ctx, o.destroyed)
	}
	if w.cluster == nil {
		return fmt.Errorf("there is no Cluster %s, so no budget selects it: if the cluster is gone for good, use --destroyed REASON",
			o.live.Clusters.Key(name))
	}
	return w.deselect(ctx, o.label)
}

// deselect takes the cluster out of the placements, and waits until it has given everything back.
func (w *work) deselect(ctx context.Context, label string) error {
	var waiting []client.ObjectKey
	var selecting []*quotav1alpha1.FederatedQuota
	for i := range w.budgets {
		fq := &w.budgets[i]
		selects := w.selects(fq)
		if selects || w.entry(fq) != nil {
			waiting = append(waiting, client.ObjectKeyFromObject(fq))
		}
		if selects {
			selecting = append(selecting, fq)
		}
	}
	keys, err := w.labelsOf(selecting, label)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		w.Printf("No budget selects %s, and it holds nothing.\n", w.name)
		return w.Err()
	}
	if err := w.unplace(ctx, selecting, keys); err != nil {
		return err
	}
	return w.await(ctx, waiting, w.left)
}

// left says whether the cluster holds nothing of a budget any more.
func (w *work) left(fq *quotav1alpha1.FederatedQuota) bool { return w.entry(fq) == nil }

// labelsOf returns the labels by which budgets select the cluster, as a patch that takes them off.
func (w *work) labelsOf(budgets []*quotav1alpha1.FederatedQuota, label string) (map[string]any, error) {
	keys := map[string]any{}
	for _, fq := range budgets {
		key, err := w.selectedBy(fq, label)
		if err != nil {
			return nil, err
		}
		if key != "" {
			keys[key] = nil
		}
	}
	return keys, nil
}

// unplace takes labels off the Cluster, and its name off the lists of the budgets.
func (w *work) unplace(ctx context.Context, budgets []*quotav1alpha1.FederatedQuota, keys map[string]any) error {
	if err := w.othersSelect(ctx, keys); err != nil {
		return err
	}
	named := slices.DeleteFunc(budgets, func(fq *quotav1alpha1.FederatedQuota) bool { return !w.named(fq) })
	if len(keys)+len(named) == 0 {
		w.Printf("no budget selects %s any more\n", w.name)
	}
	if len(keys) > 0 {
		if err := w.label(ctx, keys); err != nil {
			return err
		}
	}
	return w.unname(ctx, named)
}

// unname takes the cluster off the lists of budgets.
func (w *work) unname(ctx context.Context, budgets []*quotav1alpha1.FederatedQuota) error {
	for _, fq := range budgets {
		own := func(c quotav1alpha1.ClusterName) bool { return string(c) == w.name }
		rest := slices.DeleteFunc(slices.Clone(fq.Spec.Placement.Clusters), own)
		if len(rest) == 0 && fq.Spec.Placement.ClusterSelector == nil {
			return fmt.Errorf("FederatedQuota %s/%s selects no other cluster: delete it instead", fq.Namespace, fq.Name)
		}
		what := fmt.Sprintf("federatedquota/%s in %s: %s is off spec.placement.clusters", fq.Name, fq.Namespace, w.name)
		if err := w.place(ctx, fq, rest, what); err != nil {
			return err
		}
	}
	return nil
}

// selectedBy returns the label without which the selector of a budget does not select the cluster, "" if it does not
// anyway.
func (w *work) selectedBy(fq *quotav1alpha1.FederatedQuota, label string) (string, error) {
	selector := fq.Spec.Placement.ClusterSelector
	if selector == nil || !matches(selector, w.cluster.Labels) {
		return "", nil
	}
	if label == "" && len(selector.MatchLabels) == 1 && len(selector.MatchExpressions) == 0 {
		for key := range selector.MatchLabels {
			return key, nil
		}
	}
	without := map[string]string{}
	for key, value := range w.cluster.Labels {
		if key != label {
			without[key] = value
		}
	}
	switch {
	case label == "":
		return "", fmt.Errorf("the selector of FederatedQuota %s/%s is %s: say with --label which label to take off the Cluster",
			fq.Namespace, fq.Name, metav1.FormatLabelSelector(selector))
	case matches(selector, without):
		return "", fmt.Errorf("--label %s: without it FederatedQuota %s/%s still selects the Cluster, its selector is %s",
			label, fq.Namespace, fq.Name, metav1.FormatLabelSelector(selector))
	}
	return label, nil
}

func matches(selector *metav1.LabelSelector, labels map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labelSet(labels))
}

// othersSelect refuses to take a label off that budgets need which the command is not about.
func (w *work) othersSelect(ctx context.Context, keys map[string]any) error {
	if len(w.options.budgets) == 0 || len(keys) == 0 {
		return nil
	}
	held, err := cli.FindAll(ctx, w.hub, "", cli.FederatedQuota)
	if err != nil {
		return err
	}
	without := map[string]string{}
	for key, value := range w.cluster.Labels {
		if _, off := keys[key]; !off {
			without[key] = value
		}
	}
	others := w.others(held.Budgets, func(selector *metav1.LabelSelector) bool {
		return matches(selector, w.cluster.Labels) && !matches(selector, without)
	})
	if len(others) > 0 {
		return fmt.Errorf("the label by which these budgets select %s is that of others, too: %s. Without --budget it leaves all",
			w.name, strings.Join(others, ", "))
	}
	return nil
}

// destroyed says that the cluster is gone for good.
func (w *work) destroyed(ctx context.Context, reason string) error {
	if len(w.options.budgets) > 0 {
		return errors.New("--budget: a cluster that is gone for good is gone for all budgets")
	}
	var waiting []client.ObjectKey
	for i := range w.budgets {
		if w.entry(&w.budgets[i]) != nil {
			waiting = append(waiting, client.ObjectKeyFromObject(&w.budgets[i]))
		}
	}
	if w.cluster == nil {
		return w.giveUp(ctx, waiting)
	}
	if err := w.silent(ctx); err != nil {
		return err
	}
	err := w.write(ctx, w.cluster.DeepCopy(), map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{quotav1alpha1.DestroyedAnnotation: reason},
	}}, fmt.Sprintf("cluster/%s: stated as destroyed", w.name))
	if err != nil {
		return err
	}
	return w.await(ctx, waiting, w.left)
}

// silent demands that the cluster does not answer.
func (w *work) silent(ctx context.Context) error {
	member, err := w.env.Member(ctx, w.hub, client.ObjectKeyFromObject(w.cluster))
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, cli.MemberTimeout)
		defer cancel()
		err = member.List(ctx, &quotav1alpha1.QuotaShareList{}, client.Limit(1))
	}
	right := ""
	if err != nil {
		right = cli.MissingRight(err)
	}
	switch {
	case err == nil, cli.Answered(err) && right == "":
		return fmt.Errorf("cluster %s answers, so it is not destroyed, and the statement would not count. To take it out of budgets: "+
			"kubectl fedquota leave %s", w.name, w.name)
	case right != "":
		w.Paragraph(0, text.Yellow, "Whether it still answers was not seen: you lack the right to "+right)
	}
	return nil
}

// giveUp says in each budget that a cluster is destroyed of which there is no Cluster any more, and takes that back
// once its entry is gone: the next cluster of the name would make the spec invalid.
func (w *work) giveUp(ctx context.Context, waiting []client.ObjectKey) error {
	if len(waiting) == 0 {
		w.Printf("There is no Cluster %s, and it holds nothing.\n", w.name)
		return w.Err()
	}
	before := map[client.ObjectKey]quotav1alpha1.Removal{}
	for i := range w.budgets {
		before[client.ObjectKeyFromObject(&w.budgets[i])] = w.budgets[i].Spec.Removal
	}
	for _, key := range waiting {
		all := append(slices.Clone(before[key].Destroyed), quotav1alpha1.ClusterName(w.name))
		if err := w.remove(ctx, key, map[string]any{"destroyed": all}, w.name+" is stated as destroyed"); err != nil {
			return err
		}
	}
	if err := w.await(ctx, waiting, w.left); err != nil || w.dryRun || w.timeout == 0 {
		return err
	}
	return w.takeBack(ctx, waiting, before)
}

// takeBack writes spec.removal of budgets as it was.
func (w *work) takeBack(
	ctx context.Context, budgets []client.ObjectKey, before map[client.ObjectKey]quotav1alpha1.Removal,
) error {
	for _, key := range budgets {
		var back any
		if removal := before[key]; removal.Policy != "" || len(removal.Destroyed) > 0 {
			back = map[string]any{"destroyed": orNil(removal.Destroyed)}
		}
		if err := w.remove(ctx, key, back, "the statement is taken back, since its entry is gone"); err != nil {
			return err
		}
	}
	return w.Err()
}

// remove writes spec.removal of a budget; nil takes it off.
func (w *work) remove(ctx context.Context, key client.ObjectKey, removal any, what string) error {
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return w.write(ctx, fq, map[string]any{"spec": map[string]any{"removal": removal}},
		fmt.Sprintf("federatedquota/%s in %s: %s", key.Name, key.Namespace, what))
}
