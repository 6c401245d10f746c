// Package report says who had how much of which budget in a month, and what that costs.
package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/internal/record"
)

const (
	long = `Say who had how much of which budget in a month, for how long, and what that costs.

All is amounts times hours: a budget of 10 cores for two hours is 20 core-hours. BUDGET is
the budget, and of a cluster its part: what falls to it by weight, min and max alone. What
a cluster was granted beyond its part was lent to it (LENT); those that had less than
their part lent that (LENDS), each in proportion. WAITED is for how many hours somebody
asked for more than there was, and PEAK the most that was used at an instant.

--by hour shows each hour of each budget, and each day once the month is over.

Of qp/POOL it shows what each child of the QuotaPool had: the FederatedQuotas and the pools
right below it, or --by pool the pool itself.

It goes by QuotaRecords, which the hub manager writes about once an hour, and keeps for 13
months unless told otherwise. Months are those of UTC. Those of pools are in the namespace
of the hub manager, and whoever may list them there may ask.

A file of prices names what a unit costs for an hour: a core, a GiB, or one of what is
counted.

  currency: EUR
  prices:
    requests.cpu: 0.03
    requests.memory: 0.004`

	example = `  # This month so far, by cluster
  kubectl fedquota report -n team-a

  # What each team has used in November, for a spreadsheet
  kubectl fedquota report -A --month 2026-11 --by namespace --prices prices.yaml -o csv

  # What each child of a pool had
  kubectl fedquota report qp/research

  # For a tool that reads OpenCost's allocations
  kubectl fedquota report -A --month 2026-11 --prices prices.yaml -o opencost`
)

// Options says what to report, and how.
type Options struct {
	env    *cli.Env
	hub    string
	ofPool bool
	all    bool
	month  string
	by     string
	prices string
	charge string
	output string
}

var (
	groups  = []string{byCluster, byBudget, byNamespace, byPool, byHour}
	charges = []string{chargeUsed, chargeGranted, chargeBudget}
	formats = []string{"table", "csv", "json", "opencost"}
)

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "report [[KIND/]NAME]",
		Short:             "Say who had how much of which budget in a month, and what that costs",
		Long:              long,
		Example:           example,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	flags := command.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "Report the budgets of all namespaces.")
	flags.StringVar(&o.hub, "hub-namespace", "fedquota-system", "Namespace of the hub manager, which has the records of pools.")
	flags.StringVar(&o.month, "month", "", "The month, such as 2026-11. Defaults to the present one.")
	flags.StringVar(&o.by, "by", byCluster, "What to add up by: "+strings.Join(groups, ", ")+".")
	flags.StringVar(&o.prices, "prices", "", "File of prices: see above.")
	flags.StringVar(&o.charge, "charge", chargeUsed, "What is paid for: "+strings.Join(charges, ", ")+".")
	flags.StringVarP(&o.output, "output", "o", "table", "Output format: "+strings.Join(formats, ", ")+".")
	cli.CompleteWords(command, "by", groups...)
	cli.CompleteWords(command, "charge", charges...)
	cli.CompleteWords(command, "output", formats...)
	return command
}

func (o *Options) run(ctx context.Context, args []string) error {
	start, end, err := o.valid()
	if err != nil {
		return err
	}
	prices, err := readPrices(o.prices)
	if err != nil {
		return err
	}
	c, namespace, err := o.env.ClientAndNamespace()
	if err != nil {
		return err
	}
	if o.all {
		namespace = ""
	}
	read, err := o.reader(c, namespace, args)
	if err != nil {
		return err
	}
	found, err := read.list(ctx, start, end)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return o.nothing(ctx, read)
	}
	o.warn(found, prices)
	return o.print(found, rowsOf(found, o.by, o.charge, prices), prices, start, end)
}

// reader reads the records that are asked for, from a namespace.
type reader struct {
	list      func(ctx context.Context, from, until time.Time) ([]records.Record, error)
	namespace string
}

func (o *Options) reader(c client.Client, namespace string, args []string) (*reader, error) {
	kind, name := cli.AnyKind, ""
	if len(args) > 0 {
		var err error
		if kind, name, err = cli.ParseName(args[0]); err != nil {
			return nil, err
		}
	}
	switch kind {
	case cli.QuotaPool:
		if !slices.Contains([]string{byCluster, byPool, byHour}, o.by) {
			return nil, fmt.Errorf("--by %q: of a pool, must be cluster, which shows its children, pool or hour", o.by)
		}
		o.ofPool = true
		return &reader{func(ctx context.Context, from, until time.Time) ([]records.Record, error) {
			return records.ListPool(ctx, c, o.hub, name, from, until)
		}, o.hub}, nil
	case cli.AnyKind, cli.FederatedQuota:
		return &reader{func(ctx context.Context, from, until time.Time) ([]records.Record, error) {
			return records.List(ctx, c, namespace, name, from, until)
		}, namespace}, nil
	}
	return nil, fmt.Errorf("%q: must be NAME, fq/NAME or qp/NAME: of others nothing is recorded", args[0])
}

// valid says which flag cannot be acted on, or returns when the month begins and ends.
func (o *Options) valid() (start, end time.Time, err error) {
	for _, f := range []struct {
		flag, value string
		words       []string
	}{{"--by", o.by, groups}, {"--charge", o.charge, charges}, {"-o", o.output, formats}} {
		if !slices.Contains(f.words, f.value) {
			return start, end, fmt.Errorf("%s %q: must be %s", f.flag, f.value, strings.Join(f.words, ", "))
		}
	}
	if o.by == byHour && o.output == "opencost" {
		return start, end, errors.New("--by hour: OpenCost's allocations are of the whole month")
	}
	at := o.env.Clock.Now()
	if o.month != "" {
		if at, err = time.Parse("2006-01", o.month); err != nil {
			return start, end, fmt.Errorf("--month %q: must be a year and a month, such as %s", o.month, o.env.Clock.Now().UTC().Format("2006-01"))
		}
	}
	start, end = record.StartOf(at)
	return start, end, nil
}

// nothing says that nothing is recorded, and of which months something is.
func (o *Options) nothing(ctx context.Context, read *reader) error {
	found, err := read.list(ctx, time.Time{}, o.env.Clock.Now().AddDate(1, 0, 0))
	if err != nil {
		return err
	}
	var months []string
	for _, r := range found {
		months = append(months, r.From.Format("2006-01"))
	}
	slices.Sort(months)
	if months = slices.Compact(months); len(months) > 0 {
		return fmt.Errorf("--month %q: nothing is recorded of it; something is of %s", o.month, strings.Join(months, ", "))
	}
	where := ""
	if read.namespace != "" {
		where = " in namespace " + read.namespace
	}
	return fmt.Errorf("nothing is recorded%s: the hub manager writes the first QuotaRecord of a budget within a minute, "+
		"and none with --record-months 0", where)
}

// warn says what is not known, and which prices are of nothing.
func (o *Options) warn(found []records.Record, prices *Prices) {
	unobserved, known := 0.0, record.ByName{}
	for _, r := range found {
		unobserved = max(unobserved, r.Unobserved)
		for name := range r.Total {
			known[name] = nil
		}
	}
	if unobserved > 0 {
		_, _ = fmt.Fprintf(o.env.ErrOut, "No hub manager looked for %.2g hours: what was known before counts for them.\n", unobserved)
	}
	for _, name := range prices.names() {
		if _, has := known[name]; !has {
			_, _ = fmt.Fprintf(o.env.ErrOut, "--prices: no budget has %s.\n", name)
		}
	}
}
