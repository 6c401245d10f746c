package plan

import (
	"cmp"
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

// amounts are those of one limit: before the change, at rest after it, and finally.
type amounts struct{ before, after, finally, used, demand int64 }

// to returns a limit with these amounts.
func (a *amounts) to(l view.PlannedLimit, formats corev1.ResourceList) view.PlannedLimit {
	text := func(value int64) string { return amount.Text(l.Resource, value, formats) }
	l.Used, l.Demand = text(a.used), text(a.demand)
	l.Before, l.Planned, l.Finally = text(a.before), text(a.after), text(a.finally)
	switch {
	case a.after > a.before:
		l.Change = "+" + text(a.after-a.before)
	case a.after < a.before:
		l.Change = text(a.after - a.before)
	}
	return l
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
	for _, l := range p.limits() {
		v.Limits, v.Changes = append(v.Limits, l), v.Changes || l.Changes()
		if l.Joins && slices.Contains(p.uncounted, l.Cluster) && !slices.Contains(v.Uncounted, l.Cluster) {
			v.Uncounted = append(v.Uncounted, l.Cluster)
		}
	}
	return v
}

// limits returns those of all clusters, by cluster and name.
func (p *plan) limits() []view.PlannedLimit {
	before := map[string]*quotav1alpha1.ClusterStatus{}
	if p.stored != nil {
		for i := range p.stored.Status.Clusters {
			before[string(p.stored.Status.Clusters[i].Name)] = &p.stored.Status.Clusters[i]
		}
	}
	var limits []view.PlannedLimit
	seen := map[string]bool{}
	for i := range p.decision.Verdicts {
		v := &p.decision.Verdicts[i]
		seen[v.Name] = true
		limits = append(limits, p.limitsOf(v, before[v.Name])...)
	}
	for name, c := range before {
		if !seen[name] {
			limits = append(limits, p.gone(name, c)...)
		}
	}
	slices.SortStableFunc(limits, func(a, b view.PlannedLimit) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource))
	})
	return limits
}

// gone returns the limits of a cluster that has left.
func (p *plan) gone(name string, c *quotav1alpha1.ClusterStatus) []view.PlannedLimit {
	var limits []view.PlannedLimit
	for resource, before := range ledger.EntryOf(c.Revision, c.Granted, c.Target).Target {
		l := view.PlannedLimit{Cluster: name, Resource: resource, Leaves: true, Note: "leaves"}
		limits = append(limits, (&amounts{before: before}).to(l, p.wanted.Spec.Hard))
	}
	return limits
}

// limitsOf returns the limits of a cluster that stays or joins.
func (p *plan) limitsOf(v *shares.Verdict, status *quotav1alpha1.ClusterStatus) []view.PlannedLimit {
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
	var limits []view.PlannedLimit
	for _, name := range amount.Max(before.Target, after.Target).Names() {
		a := &amounts{before.Target[name], after.Target[name], finally.Target[name], used[name], demand[name]}
		l := view.PlannedLimit{Cluster: v.Name, Resource: name, Joins: status == nil}
		l.Leaves = v.State == quotav1alpha1.ClusterLeaving
		l.Note = p.note(v, &l, a, after.Granted[name])
		limits = append(limits, a.to(l, p.wanted.Spec.Hard))
	}
	return limits
}

// note says what there is to say of a limit of a cluster to which so much is granted.
func (p *plan) note(v *shares.Verdict, l *view.PlannedLimit, a *amounts, granted int64) string {
	var parts []string
	switch {
	case l.Joins:
		parts = append(parts, "joins")
	case l.Leaves:
		parts = append(parts, "leaves")
	}
	switch {
	case granted == ledger.Unknown:
		parts = append(parts, "may hold anything: no limit goes up")
	case granted > a.after && v.Read:
		parts = append(parts, p.quantity(l.Resource, granted-a.after)+" in use must end first")
	case granted > a.after:
		parts = append(parts, "keeps "+p.quantity(l.Resource, granted)+": it cannot be reached")
	case a.demand > 0 && a.used+a.demand > a.after:
		parts = append(parts, lacking(p.quantity(l.Resource, a.used+a.demand-a.after), p.account.Why(v.Name, l.Resource)))
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
