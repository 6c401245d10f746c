package hub

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

const (
	// messageLimit keeps a member's message within its schema.
	messageLimit = 256
	// agentPatience is how long an agent may take to act on a share before it counts as absent.
	agentPatience = 30 * time.Second
	// noteLimit keeps the note of an event within what the API server takes.
	noteLimit = 1000
)

// store writes the ledger and what was seen into the status, with one compare-and-swap against the version that the round
// was decided on. A status that differs in usage alone is written calmly.
func (r *QuotaReconciler) store(ctx context.Context, s *scope) error {
	stored := s.fq.Status.DeepCopy()
	s.report()
	if equality.Semantic.DeepEqual(stored, &s.fq.Status) {
		return nil
	}
	memory := r.memoryOf(s.fq.UID)
	if wait := snapshotInterval - r.Clock.Since(memory.stored); wait > 0 && sameButUsage(stored, &s.fq.Status) {
		s.snapshotDue = wait
		return nil
	}
	if err := r.Status().Update(ctx, s.fq); err != nil {
		return err
	}
	memory.stored = r.Clock.Now()
	r.note(ctx, s)
	r.announce(ctx, s.fq, stored)
	return nil
}

// sameButUsage says whether two statuses differ in the snapshot of usage alone.
func sameButUsage(a, b *quotav1alpha1.FederatedQuotaStatus) bool {
	return equality.Semantic.DeepEqual(withoutUsage(a), withoutUsage(b))
}

func withoutUsage(status *quotav1alpha1.FederatedQuotaStatus) *quotav1alpha1.FederatedQuotaStatus {
	bare := status.DeepCopy()
	bare.Used, bare.Demand, bare.Tightest = nil, nil, ""
	for i := range bare.Clusters {
		bare.Clusters[i].Used, bare.Clusters[i].Demand = nil, nil
	}
	return bare
}

// report writes the round into the status.
func (s *scope) report() {
	status := &s.fq.Status
	status.Clusters = nil
	for _, name := range s.ledger.Clusters() {
		status.Clusters = append(status.Clusters, s.clusterStatus(s.byName[name]))
	}
	status.ObservedGeneration = s.fq.Generation
	status.Revision = s.ledger.Revision()
	s.totals()
	write.Conditions(&status.Conditions, s.conditions(), s.fq.Generation, s.now)
	s.describeFleet()
}

func (s *scope) clusterStatus(m *member) quotav1alpha1.ClusterStatus {
	before := s.before[m.name]
	c := quotav1alpha1.ClusterStatus{Name: quotav1alpha1.ClusterName(m.name), UID: m.uid, Used: before.Used, Demand: before.Demand}
	s.ledger.Store(m.name, &c, like(s.fq))
	if m.read() && m.share != nil {
		c.Used, c.Demand = m.share.Status.Used, m.share.Status.Demand
	}
	c.Removal = s.removal(m, before.Removal)
	state, why := s.stateOf(m)
	c.State, c.Reason, c.Message = state, why.reason, write.Truncated(why.message, messageLimit)
	c.Since = before.Since
	if c.State != before.State || c.Since == nil {
		c.Since = &metav1.Time{Time: s.now.Truncate(time.Second)}
	}
	return c
}

// stateOf sums up what is known of a member, and why it is not settled.
func (s *scope) stateOf(m *member) (quotav1alpha1.ClusterState, obstacle) {
	e, _ := s.ledger.Entry(m.name)
	switch {
	case e.Revision == 0:
		return quotav1alpha1.ClusterUnread, m.whyUnread()
	case !m.read():
		return quotav1alpha1.ClusterUnreachable, obstacle{message: m.unreachable}
	case m.reports(quotav1alpha1.ConditionBreakGlass):
		return quotav1alpha1.ClusterBreakGlass, obstacle{message: m.message(quotav1alpha1.ConditionBreakGlass)}
	case m.reports(quotav1alpha1.ConditionStuckQuotaController):
		return quotav1alpha1.ClusterStuck, obstacle{message: m.message(quotav1alpha1.ConditionStuckQuotaController)}
	case m.refuses() != (obstacle{}):
		return quotav1alpha1.ClusterNotReady, m.refuses()
	case m.selected && s.ledger.Settled(m.name, m.report):
		return quotav1alpha1.ClusterSettled, obstacle{}
	case s.ignored(m):
		return quotav1alpha1.ClusterNotReady, obstacle{quotav1alpha1.ReasonAgentAbsent, "its agent does not act on the share: see whether fedquota-agent runs there"}
	case !m.selected:
		return quotav1alpha1.ClusterLeaving, obstacle{message: held(e)}
	case s.drains(m, e):
		return quotav1alpha1.ClusterDraining, obstacle{message: above(e)}
	}
	return quotav1alpha1.ClusterSettling, obstacle{}
}

// whyUnread says why a member was not read yet.
func (m *member) whyUnread() obstacle {
	if m.suspected {
		return obstacle{quotav1alpha1.ReasonMayHoldShare, m.unreachable}
	}
	return obstacle{message: m.unreachable}
}

// wasAbsent says whether the last round that was stored found that the agent of a member does not act.
func (s *scope) wasAbsent(m *member) bool {
	return s.before[m.name].Reason == quotav1alpha1.ReasonAgentAbsent
}

// ignored says whether the agent has not acted on the present share for long.
func (s *scope) ignored(m *member) bool {
	return m.idle() && (s.wasAbsent(m) || m.idleFor > agentPatience)
}

// drains says whether more is in use than the target. A cluster that drains goes on with that while it is told another target.
func (s *scope) drains(m *member, e ledger.Entry) bool {
	return !e.Target.Covers(e.Granted) && (m.report.Revision == e.Revision || s.before[m.name].State == quotav1alpha1.ClusterDraining)
}

// above names the resources of which more is in use than the target.
func above(e ledger.Entry) string { return "more is used than its target of " + excess(e) }

// held names the resources that a cluster that leaves has not let go, if any.
func held(e ledger.Entry) string {
	if names := excess(e); names != "" {
		return "it has not given back " + names
	}
	return ""
}

// excess names the resources of which more is granted than the target.
func excess(e ledger.Entry) string {
	var names []string
	for _, name := range e.Granted.Names() {
		if e.Granted[name] > e.Target[name] {
			names = append(names, string(name))
		}
	}
	return abbreviated(names)
}

// message returns what the member says with a condition.
func (m *member) message(condition string) string {
	if c := apimeta.FindStatusCondition(m.share.Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

// refuses returns why the member cannot take or enforce its share; it is empty if the member can.
func (m *member) refuses() obstacle {
	if m.misfit != "" {
		return obstacle{quotav1alpha1.ReasonForeignShare, m.misfit}
	}
	if m.heldBack != (obstacle{}) || m.share == nil {
		return m.heldBack
	}
	if m.reports(quotav1alpha1.ConditionUnguarded) {
		return obstacle{quotav1alpha1.ReasonPolicyNotInForce, m.message(quotav1alpha1.ConditionUnguarded)}
	}
	c := apimeta.FindStatusCondition(m.share.Status.Conditions, quotav1alpha1.ConditionEnforced)
	if c == nil || c.Status == metav1.ConditionTrue {
		return obstacle{}
	}
	if c.Reason == quotav1alpha1.ReasonUnknownResource || unwritable.Has(c.Reason) {
		return obstacle{c.Reason, c.Message}
	}
	return obstacle{}
}

// unwritable are the reasons for which an agent has seen the share and writes nothing.
var unwritable = sets.New(quotav1alpha1.ReasonNameTaken, quotav1alpha1.ReasonNamespaceTerminating, quotav1alpha1.ReasonWriteFailed)

// writable says whether the agent can write the ResourceQuota, as far as it says.
func (m *member) writable() bool {
	c := apimeta.FindStatusCondition(m.share.Status.Conditions, quotav1alpha1.ConditionEnforced)
	return c == nil || !unwritable.Has(c.Reason)
}

// totals writes the sums and the columns that kubectl prints.
func (s *scope) totals() {
	status, formats := &s.fq.Status, like(s.fq)
	budget := s.ledger.Budget()
	granted, free, used, demand := amount.List{}, amount.List{}, amount.List{}, amount.List{}
	for name := range budget {
		granted[name], free[name] = s.ledger.Granted(name), s.ledger.Free(name)
	}
	settled, selected := 0, 0
	for i := range status.Clusters {
		c := &status.Clusters[i]
		used = amount.Sum(used, amount.Saturate(c.Used, amount.Up).Only(budget))
		demand = amount.Sum(demand, amount.Saturate(c.Demand, amount.Up).Only(budget))
		if c.State == quotav1alpha1.ClusterSettled {
			settled++
		}
	}
	for _, m := range s.members {
		if m.selected {
			selected++
		}
	}
	status.Hard, status.Granted, status.Free = budget.ToList(formats), granted.ToList(formats), free.ToList(formats)
	status.Used, status.Demand = used.ToList(formats), demand.ToList(formats)
	status.Settled = fmt.Sprintf("%d/%d", settled, selected)
	status.Tightest = tightest(budget, used, formats)
}

// tightest returns the resource of which the largest part of the budget is used.
func tightest(budget, used amount.List, formats corev1.ResourceList) string {
	result, most := "", -1.0
	for _, name := range budget.Names() {
		ratio := float64(used[name]) / float64(max(1, budget[name]))
		if ratio <= most {
			continue
		}
		u, b := amount.ToQuantity(name, used[name], formats[name].Format), amount.ToQuantity(name, budget[name], formats[name].Format)
		most, result = ratio, fmt.Sprintf("%s: %s/%s", name, u.String(), b.String())
	}
	return result
}

// announce logs and writes an event for each condition that has changed its status or reason, or affects other clusters.
func (r *QuotaReconciler) announce(ctx context.Context, fq *quotav1alpha1.FederatedQuota, before *quotav1alpha1.FederatedQuotaStatus) {
	for _, c := range fq.Status.Conditions {
		was := apimeta.FindStatusCondition(before.Conditions, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason && affected(before, *was).Equal(affected(&fq.Status, c)) {
			continue
		}
		kind := corev1.EventTypeWarning
		if c.Type == quotav1alpha1.ConditionReconciling || c.Reason == quotav1alpha1.ReasonSettled || c.Reason == quotav1alpha1.ReasonSettling {
			kind = corev1.EventTypeNormal
		}
		ctrl.LoggerFrom(ctx).Info("Condition changed", "type", c.Type, "status", c.Status, "reason", c.Reason)
		r.Recorder.Eventf(fq, nil, kind, c.Reason, "Reconcile", "%s", write.Truncated(c.Type+": "+c.Message, noteLimit))
	}
}
