// Package list shows all budgets, the fullest first.
package list

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	long = `Show all budgets of a namespace, or of all namespaces, the fullest first. In a member, all
QuotaShares. With --pools, all QuotaPools.

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
	scope     cli.Scope
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
	o.scope.Bind(command.Flags())
	command.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave the names of the columns out.")
	command.Flags().BoolVar(&o.notReady, "not-ready", false, "Show only those that are not ready, or not enforced.")
	return command
}

func (o *Options) run(ctx context.Context) error {
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace, err := o.scope.Namespace(o.env)
	if err != nil {
		return err
	}
	held, err := o.scope.Find(ctx, c, namespace)
	if err != nil {
		return err
	}
	rows := o.rows(held.Objects())
	if cli.IsTable(o.print) {
		return o.table(rows, held.Kind == cli.QuotaShare, namespace)
	}
	objects := make([]client.Object, len(rows))
	for i := range rows {
		objects[i] = rows[i].object
	}
	return cli.PrintList(o.print, objects, o.env.Out)
}

// row is an object, with what is shown of it.
type row struct {
	*view.Row

	object client.Object
}

// rows returns what is asked for, the fullest first, and those of one fill by name.
func (o *Options) rows(objects []client.Object) []row {
	var rows []row
	for _, object := range objects {
		if r := (row{view.RowOf(object), object}); !o.notReady || r.Ready() != metav1.ConditionTrue {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return view.CompareRows(a.Row, b.Row) })
	return rows
}

// table prints what people read.
func (o *Options) table(rows []row, member bool, namespace string) error {
	if len(rows) == 0 {
		none := "No budgets found in namespace " + namespace + "."
		switch {
		case o.scope.Pools:
			none = "No QuotaPools found."
		case o.scope.All:
			none = "No budgets found in any namespace."
		}
		_, err := fmt.Fprintln(o.env.ErrOut, none)
		return err
	}
	t := &text.Table{}
	columns := slices.DeleteFunc(o.columns(member), func(c column) bool { return c.hidden })
	for _, c := range columns {
		if !o.noHeaders {
			t.Header = append(t.Header, c.name)
		}
	}
	for i := range rows {
		cells := make([]text.Cell, len(columns))
		for j, c := range columns {
			cells[j] = c.cell(&rows[i])
		}
		t.Cells(cells...)
	}
	page := o.env.Page(o.env.Out)
	page.Print(t)
	return page.Err()
}
