// Package member takes clusters into budgets, and out of them, on the hub.
package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/patches"
)

// options are those of both commands.
type options struct {
	env     *cli.Env
	live    live.Options
	budgets []string
	dryRun  bool
	timeout cli.Patience
}

func (o *options) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&o.dryRun, "dry-run", false, "Say what would be written, and write nothing.")
	o.timeout.Bind(flags, 10*time.Minute, "How long to wait. 0 does not wait.")
	o.live.Bind(flags)
}

// check says whether a flag is set that names nothing: without it the command may be about all budgets.
func (o *options) check(flags *pflag.FlagSet) error {
	if flags.Changed("budget") && len(o.budgets) == 0 {
		return errors.New("--budget: must name a FederatedQuota, or several with commas between")
	}
	return nil
}

// work is a command under way.
type work struct {
	*options
	*text.Page

	hub  client.Client
	name string
	// cluster is nil if there is no Cluster of the name, and clusters are all.
	cluster  *members.Cluster
	clusters []members.Cluster
	// budgets are those that the command is about.
	budgets []quotav1alpha1.FederatedQuota
}

// begin reads the Clusters, and the budgets that are named, or all.
func (o *options) begin(ctx context.Context, name string) (*work, error) {
	hub, err := o.env.Client()
	if err != nil {
		return nil, err
	}
	w := &work{options: o, Page: o.env.Page(o.env.Out), hub: hub, name: name}
	if w.clusters, err = o.live.Clusters.List(ctx, hub); err != nil {
		return nil, cli.Served(err)
	}
	for i := range w.clusters {
		if w.clusters[i].Name == name {
			w.cluster = &w.clusters[i]
		}
	}
	return w, w.readBudgets(ctx)
}

func (w *work) readBudgets(ctx context.Context) error {
	namespace, err := w.env.Namespace()
	if err != nil {
		return err
	}
	if len(w.options.budgets) == 0 {
		held, err := cli.FindAll(ctx, w.hub, "", cli.FederatedQuota)
		if err == nil {
			w.budgets = held.Budgets
		}
		return err
	}
	for _, name := range w.options.budgets {
		fq, err := cli.Budget(ctx, w.hub, client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return err
		}
		w.budgets = append(w.budgets, *fq)
	}
	return nil
}

// selects says whether a budget selects the cluster.
func (w *work) selects(fq *quotav1alpha1.FederatedQuota) bool {
	selected, _ := input.Placed(fq, w.clusters)
	return selected[w.name] != nil
}

// named says whether a budget names the cluster.
func (w *work) named(fq *quotav1alpha1.FederatedQuota) bool {
	return slices.Contains(fq.Spec.Placement.Clusters, quotav1alpha1.ClusterName(w.name))
}

// write patches an object, unless that is only to be told, and tells it.
func (w *work) write(ctx context.Context, object client.Object, change map[string]any, what string) error {
	if w.dryRun {
		w.Printf("%s (dry run)\n", what)
		return nil
	}
	if err := w.hub.Patch(ctx, object, patches.Merge(change)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.Printf("%s\n", what)
	return nil
}

// place writes the list of clusters that a budget names. It is written as it was read, or not at all.
func (w *work) place(
	ctx context.Context, fq *quotav1alpha1.FederatedQuota, clusters []quotav1alpha1.ClusterName, what string,
) error {
	var list any
	if len(clusters) > 0 {
		list = clusters
	}
	return w.write(ctx, fq, map[string]any{
		"metadata": map[string]any{"resourceVersion": fq.ResourceVersion},
		"spec":     map[string]any{"placement": map[string]any{"clusters": list}},
	}, what)
}

// label sets labels of the Cluster; nil takes one off.
func (w *work) label(ctx context.Context, labels map[string]any) error {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if value, set := labels[key].(string); set {
			words = append(words, key+"="+value)
		} else {
			words = append(words, key+"-")
		}
	}
	return w.write(ctx, w.cluster.DeepCopy(), map[string]any{"metadata": map[string]any{"labels": labels}},
		fmt.Sprintf("cluster/%s: labelled %s", w.name, strings.Join(words, " ")))
}

// entry returns what the ledger of a budget has of the cluster, nil if it has nothing.
func (w *work) entry(fq *quotav1alpha1.FederatedQuota) *quotav1alpha1.ClusterStatus {
	return view.EntryOf(fq, w.name)
}

// await waits until done is so of all budgets, and says how far each is. A budget that is gone is done.
func (w *work) await(
	ctx context.Context, budgets []client.ObjectKey, done func(*quotav1alpha1.FederatedQuota) bool,
) error {
	if w.dryRun || w.timeout == 0 || len(budgets) == 0 {
		return w.Err()
	}
	told := map[client.ObjectKey]string{}
	err := w.timeout.Poll(ctx, func(ctx context.Context) (bool, error) {
		all := true
		for _, key := range budgets {
			ready, progress, err := w.progress(ctx, key, done)
			if err != nil {
				return false, err
			}
			if progress != told[key] {
				w.Paragraph(0, text.Plain, fmt.Sprintf("%s: %s", key, progress))
				told[key] = progress
			}
			all = all && ready
		}
		return all, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		w.Printf("still waiting after %s\n", w.timeout.String())
		return errors.Join(cli.ErrNo, w.Err())
	}
	if err != nil {
		return err
	}
	return w.Err()
}

// progress says how far the cluster is in a budget.
func (w *work) progress(
	ctx context.Context, key client.ObjectKey, done func(*quotav1alpha1.FederatedQuota) bool,
) (bool, string, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := w.hub.Get(ctx, key, fq); apierrors.IsNotFound(err) {
		return true, "the budget is gone", nil
	} else if err != nil {
		return false, "", err
	}
	e := w.entry(fq)
	switch {
	case e == nil:
		return done(fq), w.name + " holds nothing", nil
	case e.Message != "":
		return done(fq), fmt.Sprintf("%s is %s: %s (uses %s)", w.name, e.State, e.Message, cmp.Or(text.Join(e.Used), "what nobody knows")), nil
	}
	return done(fq), fmt.Sprintf("%s is %s (granted %s)", w.name, e.State, text.Join(e.Granted)), nil
}
