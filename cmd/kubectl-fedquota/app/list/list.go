// Package list shows all budgets, the fullest first.
package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	long = `Show all budgets of a namespace, or of all namespaces, the fullest first. In a member, all
QuotaShares.

FULL is how much of the tightest resource is used. WAITING is what clusters could use
beyond what they use.`

	example = `  # All budgets, on the hub
  kubectl fedquota list -A

  # The names of those that are not ready, for a script
  kubectl fedquota list -n team-a -o name --not-ready`
)

// Options says what to list, and how.
type Options struct {
	env       *cli.Env
	print     *genericclioptions.PrintFlags
	all       bool
	noHeaders bool
	notReady  bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env, print: cli.PrintFlags()}
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show all budgets, the fullest first",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	o.print.AddFlags(command)
	cli.CompleteOutput(command)
	command.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "Show those of all namespaces.")
	command.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave the names of the columns out.")
	command.Flags().BoolVar(&o.notReady, "not-ready", false, "Show only those that are not ready, or not enforced.")
	return command
}

func (o *Options) run(ctx context.Context) error {
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace := ""
	if !o.all {
		if namespace, err = o.env.Namespace(); err != nil {
			return err
		}
	}
	held, err := cli.FindAll(ctx, c, namespace, cli.AnyKind)
	if err != nil {
		return err
	}
	o.sift(&held)
	if cli.IsTable(o.print) {
		return o.table(held, namespace)
	}
	return cli.PrintList(o.print, held.Objects(), o.env.Out)
}

// sift leaves what is asked for, the fullest first.
func (o *Options) sift(held *cli.Held) {
	if held.Budgets != nil {
		held.Budgets.Items = sifted(held.Budgets.Items, o.notReady, func(fq *quotav1alpha1.FederatedQuota) (client.Object, fill, string) {
			return fq, fillOf(fq.Status.Used, budgetOf(fq)), string(view.Summary(fq.Status.Conditions, quotav1alpha1.ConditionReady))
		})
	}
	if held.Shares != nil {
		held.Shares.Items = sifted(held.Shares.Items, o.notReady, func(share *quotav1alpha1.QuotaShare) (client.Object, fill, string) {
			return share, fillOf(share.Status.Used, share.Status.Hard), string(view.Summary(share.Status.Conditions, quotav1alpha1.ConditionEnforced))
		})
	}
}

// sifted returns items, the fullest first, and those of one fill by name.
func sifted[T any](items []T, notReady bool, of func(*T) (client.Object, fill, string)) []T {
	if notReady {
		items = slices.DeleteFunc(items, func(item T) bool {
			_, _, ready := of(&item)
			return ready == string(metav1.ConditionTrue)
		})
	}
	slices.SortStableFunc(items, func(a, b T) int {
		x, full, _ := of(&a)
		y, other, _ := of(&b)
		return cmp.Or(cmp.Compare(other.ratio, full.ratio), cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	return items
}

// table prints what people read.
func (o *Options) table(held cli.Held, namespace string) error {
	wide := *o.print.OutputFormat == "wide"
	t := &text.Table{}
	if held.Budgets != nil {
		o.budgets(t, held.Budgets, wide)
	} else {
		o.shares(t, held.Shares, wide)
	}
	if t.Len() == 0 {
		where := "in namespace " + namespace
		if o.all {
			where = "in any namespace"
		}
		_, err := fmt.Fprintf(o.env.ErrOut, "No budgets found %s.\n", where)
		return err
	}
	if o.noHeaders {
		t.Header = nil
	}
	page := o.env.Page(o.env.Out)
	page.Print(t)
	return page.Err()
}

// header adds NAMESPACE where there are several.
func (o *Options) header(names ...string) []string {
	if o.all {
		return append([]string{"NAMESPACE"}, names...)
	}
	return names
}

func (o *Options) cells(namespace string, cells ...text.Cell) []text.Cell {
	if o.all {
		return append([]text.Cell{{Text: namespace}}, cells...)
	}
	return cells
}

func (o *Options) budgets(t *text.Table, list *quotav1alpha1.FederatedQuotaList, wide bool) {
	t.Header = o.header("NAME", "READY", "SETTLED", "FULL", "TIGHTEST", "WAITING", "AGE")
	if wide {
		t.Header = o.header("NAME", "READY", "REASON", "SETTLED", "FULL", "TIGHTEST", "WAITING", "MODE", "CONDITIONS", "AGE")
	}
	for i := range list.Items {
		fq := &list.Items[i]
		full := fillOf(fq.Status.Used, budgetOf(fq))
		ready := string(view.Summary(fq.Status.Conditions, quotav1alpha1.ConditionReady))
		name, state := text.Cell{Text: fq.Name}, text.Cell{Text: ready, Style: readyStyle(ready)}
		settled, percent := text.Cell{Text: cmp.Or(fq.Status.Settled, "-")}, text.Cell{Text: full.percent(), Style: full.style()}
		tightest, waiting := text.Cell{Text: full.text}, text.Cell{Text: waitingOf(fq.Status.Demand)}
		age := text.Cell{Text: text.Since(o.env.Clock.Now(), fq.CreationTimestamp)}
		if !wide {
			t.Cells(o.cells(fq.Namespace, name, state, settled, percent, tightest, waiting, age)...)
			continue
		}
		t.Cells(o.cells(fq.Namespace, name, state, text.Cell{Text: reasonOf(fq.Status.Conditions, quotav1alpha1.ConditionReady)}, settled, percent,
			tightest, waiting, text.Cell{Text: modeOf(fq)}, text.Cell{Text: othersOf(fq.Status.Conditions)}, age)...)
	}
}

func (o *Options) shares(t *text.Table, list *quotav1alpha1.QuotaShareList, wide bool) {
	t.Header = o.header("NAME", "ENFORCED", "FULL", "TIGHTEST", "WAITING", "AGE")
	if wide {
		t.Header = o.header("NAME", "ENFORCED", "REASON", "FULL", "TIGHTEST", "WAITING", "REVISION", "CONDITIONS", "AGE")
	}
	for i := range list.Items {
		share := &list.Items[i]
		full := fillOf(share.Status.Used, share.Status.Hard)
		enforced := string(view.Summary(share.Status.Conditions, quotav1alpha1.ConditionEnforced))
		name, state := text.Cell{Text: share.Name}, text.Cell{Text: enforced, Style: readyStyle(enforced)}
		percent := text.Cell{Text: full.percent(), Style: full.style()}
		tightest, waiting := text.Cell{Text: full.text}, text.Cell{Text: waitingOf(share.Status.Demand)}
		age := text.Cell{Text: text.Since(o.env.Clock.Now(), share.CreationTimestamp)}
		if !wide {
			t.Cells(o.cells(share.Namespace, name, state, percent, tightest, waiting, age)...)
			continue
		}
		revision := fmt.Sprintf("%d/%d", share.Status.Revision, share.Spec.Revision)
		t.Cells(o.cells(share.Namespace, name, state, text.Cell{Text: reasonOf(share.Status.Conditions, quotav1alpha1.ConditionEnforced)}, percent,
			tightest, waiting, text.Cell{Text: revision}, text.Cell{Text: othersOf(share.Status.Conditions)}, age)...)
	}
}

func readyStyle(ready string) text.Style {
	if ready == string(metav1.ConditionTrue) {
		return text.Green
	}
	return text.Red
}

func reasonOf(conditions []metav1.Condition, summary string) string {
	if c := apimeta.FindStatusCondition(conditions, summary); c != nil {
		return c.Reason
	}
	return "-"
}

// othersOf names the conditions beside the summaries.
func othersOf(conditions []metav1.Condition) string {
	var names []string
	for _, c := range conditions {
		switch c.Type {
		case quotav1alpha1.ConditionReady, quotav1alpha1.ConditionEnforced, quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled:
		default:
			names = append(names, c.Type)
		}
	}
	return cmp.Or(strings.Join(names, ","), "-")
}

func modeOf(fq *quotav1alpha1.FederatedQuota) string {
	return string(cmp.Or(fq.Spec.Rebalance.Mode, quotav1alpha1.RebalanceAuto))
}
