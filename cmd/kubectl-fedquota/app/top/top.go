// Package top shows how full budgets are, live.
package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	long = `Show how full budgets are, the fullest resource first. With -w the table is drawn anew every
--interval. RAISES is how many limits of clusters went up per minute since the command began,
REFUSED how many pods were refused at least: what controllers tell of it by events. Run it on
the hub, or in a member. With --pools it shows QuotaPools.

On the hub it asks members for events by their kubeconfig Secrets. Who may not read these
sees no refusals.`

	example = `  # All budgets, the ten fullest resources
  kubectl fedquota top -A --limit 10

  # A live table
  kubectl fedquota top -n team-a -w

  # How full they are, for a script
  kubectl fedquota top -A -o json`
)

// Options says what to show.
type Options struct {
	env      *cli.Env
	live     live.Options
	scope    cli.Scope
	watch    bool
	interval time.Duration
	limit    int
	output   cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "top",
		Short:   "Show how full budgets are, live",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	flags := command.Flags()
	o.scope.Bind(flags)
	flags.BoolVarP(&o.watch, "watch", "w", false, "Draw the table anew until it is interrupted.")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "How often the table is drawn anew.")
	flags.IntVar(&o.limit, "limit", 0, "Show at most so many lines. 0 shows all.")
	o.output.Bind(command)
	o.live.Bind(flags)
	return command
}

func (o *Options) run(ctx context.Context) error {
	if o.interval < 100*time.Millisecond {
		return fmt.Errorf("--interval %s: must be at least 100ms", o.interval)
	}
	if o.limit < 0 {
		return fmt.Errorf("--limit %d: must be 0, which shows all, or more", o.limit)
	}
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace, err := o.scope.Namespace(o.env)
	if err != nil {
		return err
	}
	rates := newRates(o.env.Clock, newRefusals(o.env, namespace, o.live.Clusters))
	if !o.watch {
		return o.look(ctx, c, namespace, rates)
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	go rates.refusals.follow(following, c, o.interval)
	for {
		if err := o.look(ctx, c, namespace, rates); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.interval):
		}
	}
}

// look draws what budgets are now.
func (o *Options) look(ctx context.Context, c client.Client, namespace string, rates *rates) error {
	held, err := o.scope.Find(ctx, c, namespace)
	if err != nil {
		return err
	}
	rates.see(&held)
	lines := linesOf(&held)
	if o.limit > 0 {
		lines = lines[:min(o.limit, len(lines))]
	}
	if o.watch && !o.scope.Pools {
		for i := range lines {
			l := &lines[i]
			l.RaisesPerMinute, l.RefusedPerMinute = rates.raised(l), rates.refused(l)
		}
	}
	return o.output.Print(o.env.Out, lines, func() error { return o.draw(lines) })
}

// linesOf returns a line for each resource of what is held, the fullest first.
func linesOf(held *cli.Held) []view.Line {
	lines := []view.Line{}
	for _, object := range held.Objects() {
		switch o := object.(type) {
		case *quotav1alpha1.FederatedQuota:
			lines = append(lines, ofHead(&view.BudgetOf(o, view.Only{}).Head)...)
		case *quotav1alpha1.QuotaPool:
			lines = append(lines, ofHead(&view.PoolBudgetOf(o, view.Only{}).Head)...)
		case *quotav1alpha1.QuotaShare:
			of := ofHead(&view.ShareOf(o, view.Only{}).Head)
			for i := range of { // a share is granted all of its limit
				of[i].GrantedPercent = text.Percent(o.Status.Hard, o.Status.Hard, of[i].Resource)
			}
			lines = append(lines, of...)
		}
	}
	slices.SortStableFunc(lines, func(a, b view.Line) int {
		return cmp.Or(cmp.Compare(b.Ratio(), a.Ratio()), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Resource, b.Resource))
	})
	return lines
}

// ofHead returns the lines of one budget.
func ofHead(head *view.Head) []view.Line {
	var lines []view.Line
	for _, f := range head.Limited() {
		lines = append(lines, view.Line{Namespace: head.Namespace, Name: head.Name, Ready: head.Ready(), Filled: f})
	}
	return lines
}

// draw prints the table, on a terminal over the one before.
func (o *Options) draw(lines []view.Line) error {
	page := o.env.Page(o.env.Out)
	if o.watch && o.env.Color {
		page.Printf("\x1b[H\x1b[2J")
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, "No budgets found.")
		return err
	}
	t := &text.Table{Header: []string{"NAME", "RESOURCE", "READY", "", "FULL", "USED", "BUDGET", "DEMAND"}}
	if o.watch && !o.scope.Pools {
		t.Header = append(t.Header, "RAISES/MIN", "REFUSED/MIN")
	}
	if o.scope.All {
		t.Header = slices.Insert(t.Header, 0, "NAMESPACE")
	}
	for i := range lines {
		t.Cells(o.cells(&lines[i])...)
	}
	page.Print(t)
	return page.Err()
}

func (o *Options) cells(l *view.Line) []text.Cell {
	bar := text.Cell{Text: text.Bar(l.UsedPercent, l.GrantedPercent)}
	if l.UsedPercent >= 100 {
		bar.Style = text.Red
	}
	cells := append(text.Plains(l.Name, string(l.Resource), string(l.Ready)), bar)
	cells = append(cells, text.Plains(fmt.Sprintf("%d%%", l.UsedPercent), l.Used, l.Budget, l.Demand)...)
	if o.scope.All {
		cells = slices.Insert(cells, 0, text.Cell{Text: l.Namespace})
	}
	if o.watch && !o.scope.Pools {
		cells = append(cells, text.Plains(rateOf(l.RaisesPerMinute), rateOf(l.RefusedPerMinute))...)
	}
	return cells
}

// rateOf returns a rate in words, "" for one that nobody knows.
func rateOf(rate *float64) string {
	if rate == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *rate)
}
