package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// store writes the ledger and what was seen into the status, with one compare-and-swap against the version that the
// round was decided on. A status that differs in usage alone is written calmly.
func (r *Reconciler) store(ctx context.Context, s *scope) (ctrl.Result, error) {
	stored, memory, next := s.p.Status.DeepCopy(), r.memoryOf(s.p.UID), s.next()
	s.report()
	r.tell(s, stored)
	if equality.Semantic.DeepEqual(stored, &s.p.Status) {
		return next, nil
	}
	interval := pace.SnapshotInterval
	if s.member.Stands() {
		interval = pace.PooledSnapshotInterval
	}
	if left := interval(0, 0) - s.now.Sub(memory.stored); left > 0 && sameButUsage(stored, &s.p.Status) {
		next.RequeueAfter = min(next.RequeueAfter, left)
		return next, nil
	}
	if err := r.Status().Update(ctx, s.p); err != nil {
		return ctrl.Result{}, err
	}
	memory.stored = s.now
	r.tell(s, &s.p.Status)
	memory.note(s.limits, s.now, damping(&s.p.Spec))
	r.announce(ctx, s, memory, stored)
	return next, nil
}

// tell has the parent know what the pool needs, before that is stored, and of that version afterwards. It tells the
// children nothing: but what these need is for the pool while any of them lacks something.
func (r *Reconciler) tell(s *scope, stored *quotav1alpha1.QuotaPoolStatus) {
	short := slices.ContainsFunc(s.pool.Keys(), func(key string) bool {
		e, _ := s.pool.Entry(key)
		c := s.children[key]
		return c != nil && !e.Target.Covers(amount.Sum(amount.Sum(c.used, c.wants()), c.alsoNeeded).Only(e.Target))
	})
	r.Needs.fallShort(s.p.Name, short)
	if status := &s.p.Status.BudgetStatus; s.member.Stands() {
		haste := !pool.Lacking(&stored.BudgetStatus).Equal(pool.Lacking(status))
		r.Needs.Tell(s.member.Name, pool.KeyOf(s.p.Name), stored.Used, NeedOf(s.p, status), haste)
	}
}

// sameButUsage says whether two statuses differ in the snapshot of usage alone. What a parent is asked for beyond
// what it gives, it has to learn at once.
func sameButUsage(a, b *quotav1alpha1.QuotaPoolStatus) bool {
	return equality.Semantic.DeepEqual(withoutUsage(a), withoutUsage(b)) &&
		pool.Lacking(&a.BudgetStatus).Equal(pool.Lacking(&b.BudgetStatus))
}

func withoutUsage(status *quotav1alpha1.QuotaPoolStatus) *quotav1alpha1.QuotaPoolStatus {
	bare := status.DeepCopy()
	bare.Used, bare.Demand, bare.DemandByShape, bare.AlsoNeeded, bare.Tightest = nil, nil, nil, nil, ""
	for i := range bare.Children {
		bare.Children[i].Used, bare.Children[i].Demand = nil, nil
	}
	return bare
}

// report writes the round into the status.
func (s *scope) report() {
	status := &s.p.Status
	before := make(map[quotav1alpha1.ChildKey]quotav1alpha1.ChildStatus, len(status.Children))
	for _, c := range status.Children {
		before[c.Key] = c
	}
	status.Children, s.states = nil, map[string]quotav1alpha1.ChildState{}
	tallies := make([]round.Tally, 0, len(s.children))
	var shapes []quotav1alpha1.DemandShape
	for _, key := range s.pool.Keys() {
		c := s.childStatus(key, before[quotav1alpha1.ChildKey(key)])
		status.Children = append(status.Children, c)
		if child := s.children[key]; child != nil {
			shapes = append(shapes, child.shapes...)
		}
		tallies = append(tallies, round.Tally{
			Selected: true, Settled: c.State == quotav1alpha1.ChildSettled,
			Used: amount.Saturate(c.Used, amount.Up), Demand: amount.Saturate(c.Demand, amount.Up),
		})
	}
	otherSpec := status.SpecRevision == 0 || status.ObservedGeneration != s.p.Generation
	if otherSpec && s.pool.Ledger.Revision() > status.Revision {
		status.SpecRevision = status.Revision + 1
	}
	status.ObservedGeneration, status.Revision = s.p.Generation, s.pool.Ledger.Revision()
	status.Restored = max(status.Restored, s.restore)
	t, formats, budget := round.Total(s.pool.Ledger, tallies), s.p.Spec.Hard, s.pool.Ledger.Budget()
	status.Pool = s.member.Stored(formats)
	pool.Report(&status.BudgetStatus, budget, t, formats)
	if s.member.Stands() {
		status.DemandByShape = pool.ShapesOf(status.Demand, shapes, status.Hard)
		status.AlsoNeeded = pool.AlsoNeeded(s.needs, t.Used, t.Demand).ToList(formats)
	}
	status.Settled = fmt.Sprintf("%d/%d", t.Settled, t.Selected+len(s.expected)+len(s.leftOut))
	s.reportNamespaces()
	kept := scaleout.Keep(capacity.RuleOf(s.p), &status.ScaleOut, status.Conditions)
	conditions.Replace(&status.Conditions, append(s.conditions(), kept...), s.p.Generation, s.now)
}

// reportNamespaces writes which namespaces the pool has by spec.namespaces, unless that is not known yet.
func (s *scope) reportNamespaces() {
	if s.namespaces == nil {
		return
	}
	s.p.Status.Namespaces = ""
	if s.p.Spec.Namespaces.Selector != nil {
		s.p.Status.Namespaces = fmt.Sprintf("%d/%d", s.namespaces.Kept, s.namespaces.Selected)
	}
}

// childStatus returns what is stored of a child.
func (s *scope) childStatus(key string, before quotav1alpha1.ChildStatus) quotav1alpha1.ChildStatus {
	c := quotav1alpha1.ChildStatus{
		Key: quotav1alpha1.ChildKey(key), Used: before.Used, Demand: before.Demand, Since: before.Since,
	}
	s.pool.Store(key, &c, s.p.Spec.Hard)
	if child := s.children[key]; child != nil && s.pool.Knows(child.Child) {
		budget := s.pool.Ledger.Budget()
		c.Used, c.Demand = child.used.Only(budget).ToList(s.p.Spec.Hard), child.wants().Only(budget).ToList(s.p.Spec.Hard)
	}
	if s.hasMoved(key) {
		c.Used, c.Demand = s.pool.Ledger.Budget().Times(0).ToList(s.p.Spec.Hard), nil
	}
	state, why := s.stateOf(key)
	s.states[key] = state
	c.State, c.Reason, c.Message = state, why.reason, conditions.Truncated(why.message, messageLimit)
	if c.State != before.State || c.Since == nil {
		c.Since = &metav1.Time{Time: s.now.Truncate(time.Second)}
	}
	return c
}

// hasMoved says whether a child is in another pool by now: what it uses and needs counts there.
func (s *scope) hasMoved(key string) bool {
	return slices.ContainsFunc(s.moved, func(c *child) bool { return c.Key == key })
}

// away says why a child still counts here that is in another pool by now, or gone; nothing if it is neither.
func (s *scope) away(key string) string {
	switch {
	case s.hasMoved(key):
		return "it is in another pool, and counts here until it counts there"
	case s.torn[key] != "":
		return "it is gone, and counts until these leave it: " + s.torn[key]
	}
	return ""
}

// messageLimit keeps the message of a child within its schema.
const messageLimit = 256

// stateOf sums up how a child stands, and says why it cannot take its part.
func (s *scope) stateOf(key string) (quotav1alpha1.ChildState, obstacle) {
	e, _ := s.pool.Entry(key)
	c := s.children[key]
	switch {
	case e.Unknown():
		return quotav1alpha1.ChildUnread, obstacle{}
	case s.away(key) != "":
		return quotav1alpha1.ChildLeaving, obstacle{message: s.away(key)}
	case c == nil || !c.names || c.leaving || !s.pool.Knows(c.Child):
		return quotav1alpha1.ChildLeaving, obstacle{}
	case c.refused != "":
		why := "it keeps what it has, and gets no more: " + c.refused
		return quotav1alpha1.ChildNotReady, obstacle{quotav1alpha1.ReasonNamespaceNotAllowed, why}
	case c.stalled:
		why := "it cannot act on its spec: see its conditions"
		return quotav1alpha1.ChildNotReady, obstacle{quotav1alpha1.ReasonInvalidSpec, why}
	case s.pool.Settled(c.Child):
		return quotav1alpha1.ChildSettled, obstacle{}
	case !e.Target.Covers(c.used.Only(e.Target)):
		return quotav1alpha1.ChildDraining, obstacle{message: "it uses more than its target"}
	}
	return quotav1alpha1.ChildSettling, obstacle{}
}

// conditions returns all conditions of the round: Ready first, the others only while they are true.
func (s *scope) conditions() []metav1.Condition {
	all := conditions.Summary(s.ready())
	if debt := s.debt(); debt != "" {
		all = append(all, conditions.True(quotav1alpha1.ConditionDebt, quotav1alpha1.ReasonGrantedAboveBudget, debt))
	}
	if unread := s.in(quotav1alpha1.ChildUnread); len(unread) > 0 {
		all = append(all, conditions.True(quotav1alpha1.ConditionRebuilding, quotav1alpha1.ReasonUnread,
			"Nobody is raised until these have confirmed what they have: "+shares.Abbreviated(unread)))
	}
	if refused := slices.Concat(s.refused, s.in(quotav1alpha1.ChildNotReady)); len(refused) > 0 {
		slices.Sort(refused)
		all = append(all, conditions.True(quotav1alpha1.ConditionChildNotReady, quotav1alpha1.ReasonReported,
			"These get nothing more: "+shares.Abbreviated(refused)+
				". A FederatedQuota needs spec.allowedNamespaces to select its namespace, and a spec that can be acted on"))
	}
	if len(s.leftOut) > 0 {
		all = append(all, conditions.True(quotav1alpha1.ConditionLedgerFull, quotav1alpha1.ReasonTooManyChildren,
			fmt.Sprintf("There is room for %d children, those that leave included. These get nothing before others leave: %s",
				s.pool.Most, shares.Abbreviated(s.leftOut))))
	}
	return append(all, s.withoutQuota()...)
}

// withoutQuota says which namespaces of the pool have no FederatedQuota for it; as before while that is not known yet.
func (s *scope) withoutQuota() []metav1.Condition {
	if s.namespaces == nil {
		before := apimeta.FindStatusCondition(s.p.Status.Conditions, quotav1alpha1.ConditionNamespaceLeftOut)
		if before == nil {
			return nil
		}
		return []metav1.Condition{*before}
	}
	if len(s.namespaces.LeftOut) == 0 {
		return nil
	}
	return []metav1.Condition{conditions.True(quotav1alpha1.ConditionNamespaceLeftOut, quotav1alpha1.ReasonReported,
		shares.Abbreviated(s.namespaces.LeftOut))}
}

// ready sums up whether every child has a part of the present budget.
func (s *scope) ready() metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return conditions.False(quotav1alpha1.ConditionReady, reason, message)
	}
	switch unread := s.in(quotav1alpha1.ChildUnread); {
	case !s.p.DeletionTimestamp.IsZero():
		return no(quotav1alpha1.ReasonRemoving, "Waiting for its children to leave: have them name another pool, or none: "+
			shares.Abbreviated(s.inside()))
	case s.halted.reason != "":
		return no(s.halted.reason, s.halted.message)
	case s.lagging != "":
		return no(quotav1alpha1.ReasonPoolNotFollowed, s.lagging)
	case len(s.expected) > 0:
		return no(quotav1alpha1.ReasonSettling, "These are yet to be counted: "+shares.Abbreviated(s.expected))
	case len(unread) > 0:
		return no(quotav1alpha1.ReasonSettling, "These are yet to confirm what they have: "+shares.Abbreviated(unread))
	case len(s.unsure) > 0:
		return no(quotav1alpha1.ReasonSettling, "Nobody is raised until others leave, since there is no room for these, "+
			"which may hold anything: "+shares.Abbreviated(s.unsure))
	}
	return conditions.True(quotav1alpha1.ConditionReady, quotav1alpha1.ReasonEnforced,
		fmt.Sprintf("All %d children keep to a part of this budget", len(s.pool.Keys())))
}

// inside returns those that are in the pool.
func (s *scope) inside() []string {
	keys := s.pool.Keys()
	for _, c := range list(s.children) {
		if _, entered := s.pool.Entry(c.Key); s.contains(c) && !entered {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// in returns the children of a state.
func (s *scope) in(state quotav1alpha1.ChildState) []string {
	var keys []string
	for _, key := range s.pool.Keys() {
		if s.states[key] == state {
			keys = append(keys, key)
		}
	}
	return keys
}

// debt says of which names more is granted than the budget has, and by how much; nothing if of none.
func (s *scope) debt() string {
	var parts []string
	for _, name := range s.pool.Ledger.Budget().Names() {
		if debt := s.pool.Ledger.Debt(name); debt > 0 && debt != ledger.Unknown {
			parts = append(parts, fmt.Sprintf("%s by %s", name, amount.Text(name, debt, s.p.Spec.Hard)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "More is granted than the budget has, and nobody is raised: " + strings.Join(parts, ", ")
}

// announce logs and writes an event when Ready has another reason, and for conditions that have come.
func (r *Reconciler) announce(ctx context.Context, s *scope, memory *memory, before *quotav1alpha1.QuotaPoolStatus) {
	for _, c := range s.p.Status.Conditions {
		switch c.Type {
		case quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled:
			continue
		case quotav1alpha1.ConditionReady:
			if memory.ready == c.Reason || c.Reason == quotav1alpha1.ReasonSettling {
				continue
			}
			memory.ready = c.Reason
		default:
			if apimeta.FindStatusCondition(before.Conditions, c.Type) != nil {
				continue
			}
		}
		kind := corev1.EventTypeWarning
		if c.Reason == quotav1alpha1.ReasonEnforced || c.Reason == quotav1alpha1.ReasonRemoving {
			kind = corev1.EventTypeNormal
		}
		ctrl.LoggerFrom(ctx).Info("Condition changed",
			"type", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		r.Recorder.Eventf(s.p, nil, kind, c.Reason, "Reconcile", "%s", conditions.Truncated(c.Message, noteLimit))
	}
}

// noteLimit keeps the note of an event within what the API server takes.
const noteLimit = 1000
