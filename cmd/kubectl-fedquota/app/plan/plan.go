// Package plan says what applying a FederatedQuota would change, before anybody applies it.
package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/forecast"
	"github.com/fedquota/fedquota/internal/ledger"
)

const (
	long = `Say what applying a FederatedQuota or a QuotaPool would change: whose limit goes up or
down, what is kept from going down by what is in use, and what debt stays. Run it on the
hub.

It reads the ledger and asks every cluster, and has the hub manager's own code decide on
that. It shows where limits come to rest if usage and demand stay as they are. Of a tree, each
object is planned with what is stored of all others. Nothing is
written: the API server is asked with a dry run whether it would take the object.

With --exit-code it ends with 2 if a limit would change, and with 0 if none would.`

	example = `  # What a new version of a budget would do
  kubectl fedquota plan -f budget.yaml

  # In CI: fail if limits would move
  kubectl fedquota plan -f budget.yaml --exit-code`
)

// Options says what to plan.
type Options struct {
	env      *cli.Env
	live     live.Options
	file     string
	output   cli.Output
	exitCode bool
	all      bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "plan -f FILE",
		Short:   "Say what applying a budget would change",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	flags := command.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "File with FederatedQuotas and QuotaPools, or - for standard input.")
	flags.BoolVar(&o.exitCode, "exit-code", false, "End with 2 if a limit would change.")
	flags.BoolVar(&o.all, "all", false, "Show the limits that stay, too.")
	o.output.Bind(command)
	o.live.Bind(flags)
	_ = command.MarkFlagRequired("filename")
	return command
}

func (o *Options) run(ctx context.Context) error {
	plans, err := o.plans(ctx)
	if err != nil {
		return err
	}
	changes := false
	for i, p := range plans {
		changes = changes || p.Changes
		if err := o.output.Print(o.env.Out, p, func() error { return o.show(i, p) }); err != nil {
			return err
		}
	}
	if changes && o.exitCode {
		return cli.ErrNo
	}
	return nil
}

// plans says what becomes of all budgets of the file, pools first.
func (o *Options) plans(ctx context.Context) ([]*view.Plan, error) {
	wanted, pools, err := o.env.ReadBudgets(o.file)
	if err != nil {
		return nil, err
	}
	hub, err := o.env.Client()
	if err != nil {
		return nil, err
	}
	var plans []*view.Plan
	for i := range pools {
		p, err := ofPool(ctx, o.env, hub, &pools[i], &o.live)
		if err != nil {
			return nil, fmt.Errorf("QuotaPool %s: %w", pools[i].Name, err)
		}
		plans = append(plans, p)
	}
	for i := range wanted {
		p, err := of(ctx, o.env, hub, &wanted[i], o.live)
		if err != nil {
			return nil, fmt.Errorf("FederatedQuota %s/%s: %w", wanted[i].Namespace, wanted[i].Name, err)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// show prints a plan after so many others.
func (o *Options) show(others int, p *view.Plan) error {
	page := o.env.Page(o.env.Out)
	if others > 0 {
		page.Printf("\n")
	}
	return show(page, p, o.all)
}

// Show prints what becomes of one budget, and says whether the hub manager would act on it.
func Show(
	ctx context.Context, env *cli.Env, hub client.Client, wanted *quotav1alpha1.FederatedQuota, options live.Options,
) (bool, error) {
	p, err := of(ctx, env, hub, wanted, options)
	if err != nil {
		return false, err
	}
	return p.HaltedReason == "", show(env.Page(env.ErrOut), p, true)
}

// of says what becomes of one budget.
func of(
	ctx context.Context, env *cli.Env, hub client.Client, wanted *quotav1alpha1.FederatedQuota, options live.Options,
) (*view.Plan, error) {
	key := client.ObjectKeyFromObject(wanted)
	stored := &quotav1alpha1.FederatedQuota{}
	if err := hub.Get(ctx, key, stored); apierrors.IsNotFound(err) {
		stored = nil
	} else if err != nil {
		return nil, cli.Served(err)
	}
	asked := wanted.DeepCopy()
	if stored != nil {
		asked = stored.DeepCopy()
		asked.Spec = wanted.Spec
	}
	hint, err := dryRun(ctx, hub, asked, stored != nil)
	if err != nil {
		return nil, err
	}
	fleet, err := live.Read(ctx, env, hub, key, stored, options)
	if err != nil {
		return nil, err
	}
	p, err := What(ctx, hub, wanted, stored, fleet, env.Clock.Now())
	if err == nil && hint != "" {
		p.Hints = append(p.Hints, hint)
	}
	return p, err
}

// What says what becomes of a budget that a fleet was read of, if it gets the wanted spec. stored is nil for a budget
// that does not exist yet.
func What(
	ctx context.Context, hub client.Reader, wanted, stored *quotav1alpha1.FederatedQuota, fleet *live.Fleet, now time.Time,
) (*view.Plan, error) {
	p := &plan{stored: stored, wanted: merged(wanted, stored, now), hints: fleet.Hints}
	in := fleet.Input(p.wanted)
	p.used = used(fleet, p)
	p.halted = in.Halted
	p.pooled(cli.PoolOf(ctx, hub, p.wanted, view.Only{}))
	outcome, err := forecast.Play(*in, p.used)
	if err != nil {
		return nil, err
	}
	p.decision, p.account, p.drained = outcome.Rest, outcome.Account, outcome.Drained
	v := p.view()
	message, hint := fleet.ScaleOut(ctx, hub, p.wanted, p.decision.Ledger.Budget())
	if v.ScaleOut = message; hint != "" {
		v.Hints = append(v.Hints, hint)
	}
	return v, nil
}

// merged is the stored object with the wanted spec.
func merged(wanted, stored *quotav1alpha1.FederatedQuota, now time.Time) *quotav1alpha1.FederatedQuota {
	if stored == nil {
		fq := wanted.DeepCopy()
		fq.CreationTimestamp = metav1.NewTime(now) // it would be the youngest: others go before
		fq.Status.Revision = ledger.First          // so the hub manager begins a ledger whose birth it has seen
		return fq
	}
	fq := stored.DeepCopy()
	fq.Spec = wanted.Spec
	if wanted.Spec.Pool == nil {
		fq.Status.Pool = nil // its pool bounds it no longer
	}
	fq.Generation++ // another spec, of which nothing was decided yet
	return fq
}

// dryRun asks the API server whether it would take an object, new or in place of what is there. Who may not write it
// gets a hint instead.
func dryRun(ctx context.Context, hub client.Client, object client.Object, exists bool) (hint string, err error) {
	if exists {
		err = hub.Update(ctx, object, client.DryRunAll)
	} else {
		err = hub.Create(ctx, object, client.DryRunAll)
	}
	if apierrors.IsForbidden(err) && cli.MissingRight(err) != "" {
		return "The API server was not asked whether it would take this object: you lack the right to " + cli.MissingRight(err), nil
	}
	return "", err
}

// used returns what clusters use that have no share yet and a ResourceQuota that counts, by name.
func used(fleet *live.Fleet, p *plan) map[string]amount.List {
	byName := map[string]amount.List{}
	for name, m := range fleet.Members {
		switch {
		case m.Share != nil || m.Err != nil:
		case m.Quota != nil:
			byName[name] = amount.Saturate(m.Quota.Status.Used, amount.Up)
		default:
			p.uncounted = append(p.uncounted, name)
		}
	}
	return byName
}
