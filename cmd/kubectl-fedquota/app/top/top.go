// Package top shows how full budgets are, live.
package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
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
the hub, or in a member.

On the hub it asks members for events by their kubeconfig Secrets. Who may not read these
sees no refusals.`

	example = `  # All budgets, the ten fullest resources
  kubectl fedquota top -A --limit 10

  # A live table
  kubectl fedquota top -n team-a -w`
)

// Options says what to show.
type Options struct {
	env      *cli.Env
	live     live.Options
	all      bool
	watch    bool
	interval time.Duration
	limit    int
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
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "Show those of all namespaces.")
	flags.BoolVarP(&o.watch, "watch", "w", false, "Draw the table anew until it is interrupted.")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "How often the table is drawn anew.")
	flags.IntVar(&o.limit, "limit", 0, "Show at most so many lines. 0 shows all.")
	o.live.Bind(flags)
	return command
}

func (o *Options) run(ctx context.Context) error {
	if o.interval < 100*time.Millisecond {
		return fmt.Errorf("--interval %s: must be at least 100ms", o.interval)
	}
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
	held, err := cli.FindAll(ctx, c, namespace, cli.AnyKind)
	if err != nil {
		return err
	}
	rates.see(&held)
	return o.draw(linesOf(&held), rates)
}

// line is one resource of one budget.
type line struct {
	namespace, name      string
	resource             corev1.ResourceName
	used, budget, demand corev1.ResourceList
	granted              corev1.ResourceList
	ready                string
}

func (l *line) ratio() float64 {
	u, b := l.used[l.resource], l.budget[l.resource]
	return u.AsApproximateFloat64() / max(b.AsApproximateFloat64(), 1e-3)
}

// linesOf returns a line for each resource of what is held, the fullest first.
func linesOf(held *cli.Held) []line {
	var lines []line
	add := func(base line) {
		for _, name := range text.Names(base.budget) {
			base.resource = name
			lines = append(lines, base)
		}
	}
	for _, object := range held.Objects() {
		switch o := object.(type) {
		case *quotav1alpha1.FederatedQuota:
			budget := o.Status.Hard
			if len(budget) == 0 {
				budget = o.Spec.Hard
			}
			add(line{namespace: o.Namespace, name: o.Name, used: o.Status.Used, budget: budget, demand: o.Status.Demand, granted: o.Status.Granted,
				ready: string(view.Summary(o.Status.Conditions, quotav1alpha1.ConditionReady))})
		case *quotav1alpha1.QuotaShare:
			add(line{namespace: o.Namespace, name: o.Name, used: o.Status.Used, budget: o.Status.Hard, demand: o.Status.Demand, granted: o.Status.Hard,
				ready: string(view.Summary(o.Status.Conditions, quotav1alpha1.ConditionEnforced))})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.ratio(), a.ratio()), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.resource, b.resource))
	})
	return lines
}

// draw prints the table, on a terminal over the one before.
func (o *Options) draw(lines []line, rates *rates) error {
	page := o.env.Page(o.env.Out)
	if o.watch && o.env.Color {
		page.Printf("\x1b[H\x1b[2J")
	}
	header := []string{"NAME", "RESOURCE", "READY", "", "FULL", "USED", "BUDGET", "DEMAND"}
	if o.watch {
		header = append(header, "RAISES/MIN", "REFUSED/MIN")
	}
	if o.all {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := &text.Table{Header: header}
	for i := range lines {
		if o.limit > 0 && i == o.limit {
			break
		}
		t.Cells(o.cells(&lines[i], rates)...)
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(o.env.ErrOut, "No budgets found.")
		return err
	}
	page.Print(t)
	return page.Err()
}

func (o *Options) cells(l *line, rates *rates) []text.Cell {
	used, granted := text.Percent(l.used, l.budget, l.resource), text.Percent(l.granted, l.budget, l.resource)
	style := text.Plain
	if used >= 100 {
		style = text.Red
	}
	cells := []text.Cell{
		{Text: l.name}, {Text: string(l.resource)}, {Text: l.ready}, {Text: text.Bar(used, granted), Style: style}, {Text: fmt.Sprintf("%d%%", used)},
		{Text: text.Amount(l.used, l.resource)}, {Text: text.Amount(l.budget, l.resource)}, {Text: text.Some(l.demand, l.resource)},
	}
	if o.all {
		cells = append([]text.Cell{{Text: l.namespace}}, cells...)
	}
	if o.watch {
		cells = append(cells, text.Cell{Text: rates.raised(l)}, text.Cell{Text: rates.refused(l)})
	}
	return cells
}
