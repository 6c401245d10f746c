package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// plan is what applying a FederatedQuota leads to.
type plan struct {
	stored, wanted *quotav1alpha1.FederatedQuota
	// decision is the one at rest, and drained the one once usage above targets has ended.
	decision, drained *shares.Decision
	// account says why limits are what they are at rest.
	account *shares.Account
	// halted says why the hub manager would not act on the spec, or is empty.
	halted shares.Obstacle
	// used is what clusters use that join; uncounted are those of which nobody has counted it.
	used      map[string]amount.List
	uncounted []string
	hints     []string
}

// line is one limit, before and after.
type line struct {
	cluster       string
	name          corev1.ResourceName
	before, after int64
	finally       int64
	used, demand  int64
	held          int64
	note          string
	joins, leaves bool
}

// view returns what is to be shown.
func (p *plan) view() *view.Plan {
	v := &view.Plan{
		Namespace: p.wanted.Namespace, Name: p.wanted.Name, Exists: p.stored != nil,
		Halted: p.halted.Message, HaltedReason: p.halted.Reason,
		Conditions: input.Conditions(p.decision.Conditions), Limits: []view.PlannedLimit{}, Hints: p.hints,
	}
	var before corev1.ResourceList
	if p.stored != nil {
		before = p.stored.Status.Hard
	}
	v.Budget = view.BudgetChanges(before, p.decision.Ledger.Budget().ToList(p.wanted.Spec.Hard))
	for _, l := range p.lines() {
		limit := p.limit(&l)
		v.Limits, v.Changes = append(v.Limits, limit), v.Changes || limit.Changes()
		if l.joins && slices.Contains(p.uncounted, l.cluster) && !slices.Contains(v.Uncounted, l.cluster) {
			v.Uncounted = append(v.Uncounted, l.cluster)
		}
	}
	return v
}

func (p *plan) limit(l *line) view.PlannedLimit {
	limit := view.PlannedLimit{
		Cluster: l.cluster, Resource: l.name, Used: p.quantity(l.name, l.used), Demand: p.quantity(l.name, l.demand),
		Before: p.quantity(l.name, l.before), Planned: p.quantity(l.name, l.after), Finally: p.quantity(l.name, l.finally),
		Joins: l.joins, Leaves: l.leaves, Note: l.note,
	}
	switch {
	case l.after > l.before:
		limit.Change = "+" + p.quantity(l.name, l.after-l.before)
	case l.after < l.before:
		limit.Change = p.quantity(l.name, l.after-l.before)
	}
	return limit
}

// lines returns the limits of all clusters, by cluster and name.
func (p *plan) lines() []line {
	before := map[string]*quotav1alpha1.ClusterStatus{}
	if p.stored != nil {
		for i := range p.stored.Status.Clusters {
			before[string(p.stored.Status.Clusters[i].Name)] = &p.stored.Status.Clusters[i]
		}
	}
	var lines []line
	seen := map[string]bool{}
	for i := range p.decision.Verdicts {
		v := &p.decision.Verdicts[i]
		seen[v.Name] = true
		lines = append(lines, p.linesOf(v, before[v.Name])...)
	}
	for name, c := range before {
		if !seen[name] {
			lines = append(lines, gone(name, c)...)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return strings.Compare(a.cluster+"\x00"+string(a.name), b.cluster+"\x00"+string(b.name))
	})
	return lines
}

// gone returns the limits of a cluster that has left.
func gone(name string, c *quotav1alpha1.ClusterStatus) []line {
	e := ledger.EntryOf(c.Revision, c.Granted, c.Target)
	var lines []line
	for resource := range e.Target {
		lines = append(lines, line{cluster: name, name: resource, before: e.Target[resource], leaves: true, note: "leaves"})
	}
	return lines
}

// linesOf returns the limits of a cluster that stays or joins.
func (p *plan) linesOf(v *shares.Verdict, status *quotav1alpha1.ClusterStatus) []line {
	after, known := p.decision.Ledger.Entry(v.Name)
	if !known {
		return nil
	}
	before, used, demand := ledger.Entry{}, p.used[v.Name], amount.List{}
	if status != nil {
		before = ledger.EntryOf(status.Revision, status.Granted, status.Target)
		used, demand = amount.Saturate(status.Used, amount.Up), amount.Saturate(status.Demand, amount.Up)
	}
	finally, _ := p.drained.Ledger.Entry(v.Name)
	var lines []line
	for _, name := range amount.Max(before.Target, after.Target).Names() {
		l := line{
			cluster: v.Name, name: name, before: before.Target[name], after: after.Target[name], held: after.Granted[name],
			finally: finally.Target[name],
			used:    used[name], demand: demand[name], joins: status == nil, leaves: v.State == quotav1alpha1.ClusterLeaving,
		}
		l.note = p.note(v, &l)
		lines = append(lines, l)
	}
	return lines
}

// note says what there is to say of a limit.
func (p *plan) note(v *shares.Verdict, l *line) string {
	var parts []string
	switch {
	case l.joins:
		parts = append(parts, "joins")
	case l.leaves:
		parts = append(parts, "leaves")
	}
	switch {
	case l.held == ledger.Unknown:
		parts = append(parts, "may hold anything: no limit goes up")
	case l.held > l.after && v.Read:
		parts = append(parts, p.quantity(l.name, l.held-l.after)+" in use must end first")
	case l.held > l.after:
		parts = append(parts, "keeps "+p.quantity(l.name, l.held)+": it cannot be reached")
	case l.demand > 0 && l.used+l.demand > l.after:
		parts = append(parts, lacking(p.quantity(l.name, l.used+l.demand-l.after), p.account.Why(v.Name, l.name)))
	}
	switch v.State {
	case quotav1alpha1.ClusterSettled, quotav1alpha1.ClusterSettling,
		quotav1alpha1.ClusterDraining, quotav1alpha1.ClusterLeaving:
	default:
		parts = append(parts, string(v.State))
	}
	return strings.Join(parts, "; ")
}

// lacking says what does not fit, and why in a few words, if there are any.
func lacking(amount, why string) string {
	return strings.TrimSuffix(amount+" do not fit: "+why, ": ")
}

func (p *plan) quantity(name corev1.ResourceName, value int64) string {
	return amount.Text(name, value, p.wanted.Spec.Hard)
}
