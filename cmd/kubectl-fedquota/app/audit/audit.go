// Package audit watches the members of a budget, and proves whether they ever exceed it.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/observer"
)

const (
	long = `Watch the ResourceQuotas of all clusters of a budget for a while, and prove whether the sum
ever exceeds the budget. It believes neither the hub nor the agents, only what the API
servers of the members enforce and count, and shares no code with them: it is the observer
that judges fedquota's own tests. Run it on the hub.

Of qp/POOL it watches all that is below the QuotaPool: whether what is in force below each
pool is within its budget, and whether each ledger grants no more than its budget and what
its pool gives. What was granted above a budget when the watch began is debt: it may stay,
and nobody may be raised.

It needs the right to get the kubeconfig Secrets of the Clusters. A cluster that does not
answer cannot be judged, and the command fails.

It ends with 0 if nothing was exceeded, and with 2 if something was.`

	example = `  # Watch for a minute
  kubectl fedquota audit compute -n team-a

  # Watch a pool, and all that is below it
  kubectl fedquota audit qp/research

  # Watch for an hour, and keep all that was seen
  kubectl fedquota audit compute -n team-a --for 1h -o json > audit.json`
)

// errChanged is that the budget became another one.
var errChanged = errors.New("spec changed or clusters came or went meanwhile: the verdict is void, run it again")

// Options says what to watch.
type Options struct {
	env      *cli.Env
	live     live.Options
	duration cli.Span
	output   cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env, duration: cli.Span(time.Minute)}
	command := &cobra.Command{
		Use:               "audit [KIND/]NAME",
		Short:             "Watch members, and prove whether a budget is ever exceeded",
		Long:              long,
		Example:           example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	command.Flags().Var(&o.duration, "for", "How long to watch. An interrupt ends it earlier.")
	o.output.Bind(command)
	o.live.Bind(command.Flags())
	return command
}

func (o *Options) run(ctx context.Context, arg string) error {
	hub, err := o.env.Client()
	if err != nil {
		return err
	}
	kind, name, err := cli.ParseName(arg)
	switch {
	case err != nil:
		return err
	case kind == cli.QuotaPool:
		return o.runTree(ctx, hub, name)
	}
	namespace, err := o.env.Namespace()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	before, err := cli.Budget(ctx, hub, key)
	if err != nil {
		return err
	}
	options, err := o.options(ctx, hub, before)
	if err != nil {
		return err
	}
	report, err := watch(ctx, options, time.Duration(o.duration))
	if err != nil {
		return err
	}
	// What was seen is judged, also after an interrupt.
	after := &quotav1alpha1.FederatedQuota{}
	if err := hub.Get(context.WithoutCancel(ctx), key, after); err != nil {
		return err
	}
	if changed(before, after) {
		return errChanged
	}
	return o.conclude(report, o.print)
}

// options returns whom to watch, and what they may hold together.
func (o *Options) options(
	ctx context.Context, hub client.Client, fq *quotav1alpha1.FederatedQuota,
) (observer.Options, error) {
	options := observer.Options{
		Members: map[string]*rest.Config{}, Namespace: fq.Namespace, Name: fq.Name, Budget: fq.Status.Hard, OnExcess: o.alarm,
	}
	if fq.Spec.Pool != nil || fq.Status.Pool != nil {
		options.Budget = view.OwnOf(fq) // what the pool gives moves while the spec stays
	}
	for _, c := range fq.Status.Clusters {
		config, err := cli.WayTo(ctx, hub, o.live.Clusters.Key(string(c.Name)))
		if err != nil {
			return options, err
		}
		options.Members[string(c.Name)] = config
	}
	if len(options.Members) == 0 {
		return options, fmt.Errorf("FederatedQuota %s/%s has no clusters yet", fq.Namespace, fq.Name)
	}
	return options, nil
}

// alarm tells at once of an excess.
func (o *Options) alarm(e observer.Excess) {
	_, _ = fmt.Fprintf(o.env.ErrOut, "%s: the clusters hold %s more than %s\n",
		e.Resource, e.Certain.String(), e.Allowed.String())
}

// watch watches until the time is over, or the context ends. The first reads are bounded: nobody waits for a cluster
// that is away.
func watch(ctx context.Context, options observer.Options, duration time.Duration) (observer.Report, error) {
	type started struct {
		observer *observer.Observer
		err      error
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	begun := make(chan started, 1)
	go func() {
		o, err := observer.Watch(watching, options)
		begun <- started{o, err}
	}()
	select {
	case s := <-begun:
		if s.err != nil {
			return observer.Report{}, fmt.Errorf("without all clusters nobody can judge: %w", s.err)
		}
		wait(ctx, duration)
		return s.observer.Stop(), nil
	case <-time.After(3 * cli.MemberTimeout):
		return observer.Report{}, errors.New("without all clusters nobody can judge, and one does not answer: see kubectl fedquota describe")
	case <-ctx.Done():
		return observer.Report{}, ctx.Err()
	}
}

func wait(ctx context.Context, duration time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	<-ctx.Done()
}

// changed says whether another budget was in force at the end than at the beginning.
func changed(before, after *quotav1alpha1.FederatedQuota) bool {
	if before.UID != after.UID || before.Generation != after.Generation ||
		len(before.Status.Clusters) != len(after.Status.Clusters) {
		return true
	}
	for i := range before.Status.Clusters {
		if before.Status.Clusters[i].Name != after.Status.Clusters[i].Name {
			return true
		}
	}
	return false
}

// conclude prints the verdict.
func (o *Options) conclude(report observer.Report, show func(*text.Page, observer.Report)) error {
	violations := report.Violations()
	err := o.output.Print(o.env.Out, report, func() error {
		page := o.env.Page(o.env.Out)
		show(page, report)
		verdict(page, report, violations)
		return page.Err()
	})
	if err != nil {
		return err
	}
	if len(violations) > 0 {
		return cli.ErrNo
	}
	return nil
}

// print prints what was seen of one budget.
func (o *Options) print(page *text.Page, report observer.Report) {
	page.Printf("FederatedQuota %s/%s: watched %d clusters for %s, %d versions of their ResourceQuotas\n\n", report.Namespace, report.Name,
		len(report.Members), lengthOf(report), versionsOf(report))
	t := &text.Table{Header: []string{"RESOURCE", "BUDGET", "LARGEST SUM", "EXCEEDED", "SUSPECTED"}}
	for _, r := range report.Resources {
		t.Cells(append(text.Plains(string(r.Name), r.Budget.String(), r.Largest.String()), exceeded(&r)...)...)
	}
	page.Print(t)
}

func lengthOf(report observer.Report) time.Duration {
	return report.End.Sub(report.Start).Round(time.Second)
}

// versionsOf counts all versions of ResourceQuotas.
func versionsOf(report observer.Report) int {
	versions := 0
	for _, m := range report.Members {
		versions += m.Versions
	}
	return versions
}

// exceeded are the cells that count excesses: those that are proved, and those that are suspected.
func exceeded(r *observer.ResourceReport) []text.Cell {
	proved := text.Cell{Text: fmt.Sprint(r.Confirmed), Style: text.Green}
	if r.Confirmed > 0 {
		proved.Style = text.Red
	}
	return []text.Cell{proved, {Text: fmt.Sprint(r.Seen - r.Confirmed)}}
}

// verdict prints what was proved, and what may have been missed.
func verdict(page *text.Page, report observer.Report, violations []string) {
	page.Printf("\n")
	for _, violation := range violations {
		page.Paragraph(0, text.Red, violation)
	}
	for _, m := range report.Members {
		if len(m.Gaps) > 0 {
			page.Paragraph(0, text.Yellow, fmt.Sprintf("%s: the watch broke %d times, and what happened in between was not seen", m.Name, len(m.Gaps)))
		}
	}
	for _, l := range report.Ledgers {
		if l.Gaps > 0 {
			page.Paragraph(0, text.Yellow, fmt.Sprintf("%s: the watch broke %d times, and what happened in between was not seen", l.Name, l.Gaps))
		}
	}
	if len(violations) == 0 {
		page.Printf("%s\n", page.Paint(text.Green, "Never exceeded: nothing proves that the clusters held more than the budget together."))
	}
}
