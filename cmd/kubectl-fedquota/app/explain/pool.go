package explain

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// pool explains why the children of a QuotaPool have what they have.
func (o *Options) pool(ctx context.Context, hub client.Client, p *quotav1alpha1.QuotaPool) error {
	e, err := OfPool(ctx, hub, o.env.Clock.Now(), p, o.only)
	if err != nil {
		return err
	}
	return o.output.Print(o.env.Out, e, func() error { return show(o.env.Page(o.env.Out), e) })
}

// OfPool explains the targets of the children of a QuotaPool.
func OfPool(
	ctx context.Context, hub client.Reader, now time.Time, p *quotav1alpha1.QuotaPool, only view.Only,
) (*view.Explanation, error) {
	var pools quotav1alpha1.QuotaPoolList
	if err := hub.List(ctx, &pools); err != nil {
		return nil, err
	}
	var quotas quotav1alpha1.FederatedQuotaList
	var hints []string
	if err := hub.List(ctx, &quotas); apierrors.IsForbidden(err) {
		hints = append(hints, "FederatedQuotas were not read, which needs the right to list them in all namespaces: of those, it is not known why.")
	} else if err != nil {
		return nil, err
	}
	l, in := pool.Input(now, p, pools.Items, quotas.Items)
	account := &shares.Account{Account: round.Explain(l, in), Findings: map[string]shares.Finding{}}
	named(account, p)
	s := &sentences{
		formats: p.Spec.Hard, unseen: p.Status.Revision == 0, account: account,
		static: in.Split.Static, only: only, ofPool: true,
	}
	e := s.explanation(&view.Explanation{Kind: "QuotaPool", Name: p.Name, Hints: hints})
	e.Climb = cli.ClimbOf(ctx, hub, p, only)
	return e, nil
}

// named calls children as rules do, and adds what the hub manager has found of them, and why it moves nothing.
func named(account *shares.Account, p *quotav1alpha1.QuotaPool) {
	for i := range account.Children {
		_, account.Children[i].Name, _ = strings.Cut(account.Children[i].Name, "/")
	}
	for _, c := range p.Status.Children {
		_, name, _ := strings.Cut(string(c.Key), "/")
		account.Findings[name] = shares.Finding{
			State: quotav1alpha1.ClusterState(c.State), Why: shares.Obstacle{Reason: c.Reason, Message: c.Message},
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == quotav1alpha1.ConditionReady && halts[c.Reason] {
			account.Halted = shares.Obstacle{Reason: c.Reason, Message: c.Message}
		}
	}
}

// halts are the reasons for which a pool moves nothing.
var halts = map[string]bool{
	quotav1alpha1.ReasonInvalidSpec: true, quotav1alpha1.ReasonPoolPending: true, quotav1alpha1.ReasonRemoving: true,
}
