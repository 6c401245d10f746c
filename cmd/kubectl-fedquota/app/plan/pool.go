package plan

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/forecast"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// notPlanned is the reason of a plan that says nothing of limits.
const notPlanned = "NotPlanned"

// pooled says of a FederatedQuota in a pool what the plan goes by, and what it cannot say.
func (p *plan) pooled(pool *view.Pool) {
	var stands quotav1alpha1.PoolName
	if p.stored != nil && p.stored.Status.Pool != nil {
		stands = p.stored.Status.Pool.Name
	}
	switch {
	case pool == nil && stands != "":
		p.hints = append(p.hints, fmt.Sprintf("It leaves QuotaPool %s, which bounds it no longer.", stands))
	case pool == nil:
	case pool.Name != string(stands):
		p.halted = shares.Obstacle{Reason: notPlanned, Message: fmt.Sprintf(
			"it joins QuotaPool %s, and what that gives to it is not planned. Clusters keep what they have until the pool has counted that.", pool.Name)}
	default:
		p.hints = append(p.hints, fmt.Sprintf("QuotaPool %s. The plan keeps to that, and does not say what the pool gives to another spec.", pool.Sentence()))
	}
}

// ofPool says what becomes of the children of a pool, and which nodes would be added.
func ofPool(
	ctx context.Context, env *cli.Env, hub client.Client, wanted *quotav1alpha1.QuotaPool, options *live.Options,
) (*view.Plan, error) {
	stored := &quotav1alpha1.QuotaPool{}
	if err := hub.Get(ctx, client.ObjectKeyFromObject(wanted), stored); apierrors.IsNotFound(err) {
		stored = nil
	} else if err != nil {
		return nil, cli.Served(err)
	}
	hint, err := dryRun(ctx, hub, instead(wanted, stored), stored != nil)
	if err != nil {
		return nil, err
	}
	pools, quotas, err := inTrees(ctx, hub)
	if err != nil {
		return nil, err
	}
	v, budget, err := whatPool(wanted, stored, pools, quotas, env.Clock.Now())
	if err != nil {
		return nil, err
	}
	if v.Halted == "" {
		next, below := instead(wanted, stored), scaleout.Below(wanted.Name, pools, quotas)
		var scales string
		if v.ScaleOut, scales = live.ScaleOutOfPool(ctx, env, hub, next, below, budget, options); scales != "" {
			v.Hints = append(v.Hints, scales)
		}
	}
	if hint != "" {
		v.Hints = append(v.Hints, hint)
	}
	return v, nil
}

// inTrees returns all that may be in a tree of pools.
func inTrees(
	ctx context.Context, hub client.Reader,
) ([]quotav1alpha1.QuotaPool, []quotav1alpha1.FederatedQuota, error) {
	var pools quotav1alpha1.QuotaPoolList
	var quotas quotav1alpha1.FederatedQuotaList
	if err := hub.List(ctx, &pools); err != nil {
		return nil, nil, err
	}
	if err := hub.List(ctx, &quotas); err != nil {
		return nil, nil, err
	}
	return pools.Items, quotas.Items, nil
}

// WhatPool says what becomes of the children of a pool, if it gets the wanted spec. stored is nil for a pool that does
// not exist yet.
func WhatPool(
	ctx context.Context, hub client.Reader, wanted, stored *quotav1alpha1.QuotaPool, now time.Time,
) (*view.Plan, error) {
	pools, quotas, err := inTrees(ctx, hub)
	if err != nil {
		return nil, err
	}
	v, _, err := whatPool(wanted, stored, pools, quotas, now)
	return v, err
}

// whatPool says what becomes of the children of a pool, and which budget it has then.
func whatPool(
	wanted, stored *quotav1alpha1.QuotaPool, pools []quotav1alpha1.QuotaPool, quotas []quotav1alpha1.FederatedQuota,
	now time.Time,
) (*view.Plan, amount.List, error) {
	v := &view.Plan{Kind: "QuotaPool", Name: wanted.Name, Exists: stored != nil, Limits: []view.PlannedLimit{}}
	if v.Halted = unplanned(wanted, stored); v.Halted != "" {
		v.HaltedReason = notPlanned
		return v, nil, nil
	}
	next := instead(wanted, stored)
	l, in := pool.Input(now, next, pools, quotas)
	if parent := next.Spec.Parent; parent != "" {
		v.Hints = append(v.Hints, fmt.Sprintf("QuotaPool %s bounds it by what it gives now: what that gives to another spec is not planned.", parent))
	}
	return v, l.Budget(), fillPool(v, stored, next, l, in)
}

// unplanned says why it is not planned what becomes of the children of a pool, "" if it is.
func unplanned(wanted, stored *quotav1alpha1.QuotaPool) string {
	switch {
	case stored == nil:
		return "it has no ledger yet: it first counts what its children have, into debt if that is more than its budget"
	case stored.Spec.Parent != wanted.Spec.Parent:
		return "it gets another parent: children keep what they have until that has counted it"
	}
	return ""
}

// instead is a pool that takes the place of the stored one, or is new.
func instead(wanted, stored *quotav1alpha1.QuotaPool) *quotav1alpha1.QuotaPool {
	if stored == nil {
		return wanted.DeepCopy()
	}
	next := stored.DeepCopy()
	next.Spec = wanted.Spec
	return next
}

// poolPlan is what applying a QuotaPool leads to.
type poolPlan struct {
	formats corev1.ResourceList
	// before is what is stored of children, planned what there is at rest, and finally what there is once usage above
	// targets has ended.
	before           map[string]*quotav1alpha1.ChildStatus
	planned, finally map[string]ledger.Entry
	// account says why targets are what they are at rest.
	account *round.Account
}

// fillPool plays rounds until nothing moves, and fills in what becomes of the targets of children.
func fillPool(v *view.Plan, stored, next *quotav1alpha1.QuotaPool, l *ledger.Ledger, in *round.Input) error {
	p := &poolPlan{formats: next.Spec.Hard, before: map[string]*quotav1alpha1.ChildStatus{}}
	for i := range stored.Status.Children {
		p.before[string(stored.Status.Children[i].Key)] = &stored.Status.Children[i]
	}
	v.Budget = view.BudgetChanges(stored.Status.Hard, l.Budget().ToList(p.formats))
	if err := rest(l, in); err != nil {
		return err
	}
	p.planned, p.account, v.Debt = entries(l), round.Explain(l, in), p.debt(l)
	for i := range in.Children {
		drain(&in.Children[i], p.planned)
	}
	if err := rest(l, in); err != nil {
		return err
	}
	p.finally = entries(l)
	for _, key := range l.Children() {
		for _, limit := range p.limitsOf(key) {
			v.Limits, v.Changes = append(v.Limits, limit), v.Changes || limit.Changes()
		}
	}
	return nil
}

// debt returns what is granted above the budget, nil if nothing is.
func (p *poolPlan) debt(l *ledger.Ledger) corev1.ResourceList {
	debt := amount.List{}
	for name := range l.Budget() {
		if value := l.Debt(name); value > 0 && value != ledger.Unknown {
			debt[name] = value
		}
	}
	if len(debt) == 0 {
		return nil
	}
	return debt.ToList(p.formats)
}

// limitsOf returns the targets of a child.
func (p *poolPlan) limitsOf(key string) []view.PlannedLimit {
	c := p.before[key]
	before := ledger.EntryOf(c.Revision, c.Granted, c.Target)
	used, demand := amount.Saturate(c.Used, amount.Up), amount.Saturate(c.Demand, amount.Up)
	_, child, _ := strings.Cut(key, "/")
	var limits []view.PlannedLimit
	for _, name := range amount.Max(before.Target, p.planned[key].Target).Names() {
		a := &amounts{before.Target[name], p.planned[key].Target[name], p.finally[key].Target[name], used[name], demand[name]}
		note := p.note(key, name, amount.Add(a.used, a.demand)-a.after, a.demand > 0)
		limits = append(limits, a.to(view.PlannedLimit{Child: child, Resource: name, Note: note}, p.formats))
	}
	return limits
}

func (p *poolPlan) quantity(name corev1.ResourceName, value int64) string {
	return amount.Text(name, value, p.formats)
}

// note says what there is to say of the target of a child, which lacks something if that is above zero.
func (p *poolPlan) note(key string, name corev1.ResourceName, lacks int64, asks bool) string {
	switch e := p.planned[key]; {
	case e.Granted[name] == ledger.Unknown:
		return "may hold anything: nobody is raised"
	case e.Granted[name] > e.Target[name]:
		return p.quantity(name, e.Granted[name]-e.Target[name]) + " in use must end first"
	case asks && lacks > 0:
		return lacking(p.quantity(name, lacks), p.account.Why(key, name))
	}
	return ""
}

// drain ends what a child uses above its target.
func drain(c *round.Standing, planned map[string]ledger.Entry) {
	c.Used = maps.Clone(c.Used)
	for name, target := range planned[c.Name].Target {
		if used, known := c.Used[name]; known {
			c.Used[name] = min(used, target)
		}
	}
}

func entries(l *ledger.Ledger) map[string]ledger.Entry {
	all := map[string]ledger.Entry{}
	for _, key := range l.Children() {
		all[key], _ = l.Entry(key)
	}
	return all
}

// mostRounds is more than any pool needs to come to rest.
const mostRounds = 200

// rest plays rounds until nothing moves: children that can act keep to their targets at once, or to what they use.
func rest(l *ledger.Ledger, in *round.Input) error {
	for range mostRounds {
		before := l.Revision()
		round.Steer(l, in)
		for i := range in.Children {
			obey(l, &in.Children[i])
		}
		if l.Revision() == before {
			return nil
		}
	}
	return forecast.ErrRestless
}

// obey has a child confirm its entry.
func obey(l *ledger.Ledger, c *round.Standing) {
	if c.Pinned {
		return
	}
	e, _ := l.Entry(c.Name)
	held := amount.Max(e.Target, c.Used.Only(e.Target))
	l.Hear(c.Name, ledger.Report{Revision: e.Revision, Hard: held, Used: maps.Clone(held)})
}
