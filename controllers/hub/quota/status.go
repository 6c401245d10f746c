package quota

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	pools "github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/shares"
)

// store writes the ledger and what was seen into the status, with one compare-and-swap against the version that the
// round was decided on. A status that differs in usage alone is written calmly: one that another hub manager has
// written counts as just written.
func (r *Reconciler) store(ctx context.Context, s *scope) error {
	stored := s.fq.Status.DeepCopy()
	s.report()
	r.tell(s, stored)
	if equality.Semantic.DeepEqual(stored, &s.fq.Status) {
		return nil
	}
	memory := r.memories.of(s.fq.UID)
	if memory.stored.IsZero() {
		memory.stored = r.Clock.Now()
	}
	interval := pace.SnapshotInterval
	if s.membership.Stands() {
		interval = pace.PooledSnapshotInterval
	}
	wait := interval(len(s.members), r.memories.number()) - r.Clock.Since(memory.stored)
	if wait > 0 && sameButUsage(stored, &s.fq.Status) {
		s.snapshotDue = wait
		return nil
	}
	if err := r.Status().Update(ctx, s.fq); err != nil {
		return err
	}
	memory.stored = r.Clock.Now()
	r.tell(s, &s.fq.Status)
	r.births.leave(s.fq, r.Stores.Steady())
	r.note(ctx, s)
	r.announceNotes(ctx, s.fq, stored)
	return nil
}

// tell has the pool know what is needed, before that is stored, and of that version afterwards.
func (r *Reconciler) tell(s *scope, stored *quotav1alpha1.FederatedQuotaStatus) {
	if status := &s.fq.Status.BudgetStatus; s.membership.Stands() {
		key := pool.QuotaKey(s.fq.Namespace, s.fq.Name)
		haste := !pool.Lacking(&stored.BudgetStatus).Equal(pool.Lacking(status))
		r.Needs.Tell(s.membership.Name, key, stored.Used, pools.NeedOf(s.fq, status), haste)
	}
}

// sameButUsage says whether two statuses differ in the snapshot of usage alone. What a pool is asked for beyond what it
// gives, it has to learn at once.
func sameButUsage(a, b *quotav1alpha1.FederatedQuotaStatus) bool {
	return equality.Semantic.DeepEqual(withoutUsage(a), withoutUsage(b)) &&
		pool.Lacking(&a.BudgetStatus).Equal(pool.Lacking(&b.BudgetStatus))
}

func withoutUsage(status *quotav1alpha1.FederatedQuotaStatus) *quotav1alpha1.FederatedQuotaStatus {
	bare := status.DeepCopy()
	bare.Used, bare.Demand, bare.DemandByShape, bare.AlsoNeeded, bare.Tightest = nil, nil, nil, nil, ""
	for i := range bare.Clusters {
		bare.Clusters[i].Used, bare.Clusters[i].Demand, bare.Clusters[i].Unscheduled = nil, nil, nil
	}
	return bare
}

// report writes the round into the status.
func (s *scope) report() {
	status, d := &s.fq.Status, s.decision
	before := make(map[quotav1alpha1.ClusterName]quotav1alpha1.ClusterStatus, len(status.Clusters))
	for _, c := range status.Clusters {
		before[c.Name] = c
	}
	status.Clusters = nil
	for _, m := range s.members {
		if m.verdict != nil && m.verdict.State != "" {
			status.Clusters = append(status.Clusters, s.clusterStatus(m, before[quotav1alpha1.ClusterName(m.Name)]))
		}
	}
	status.ObservedGeneration = s.fq.Generation
	status.Revision, status.SpecRevision = d.Ledger.Revision(), d.SpecRevision
	status.Pool, status.Restored = s.membership.Stored(s.fq.Spec.Hard), max(status.Restored, s.restored)
	s.totals()
	kept := scaleout.Keep(s.fq.Spec.Capacity, &status.ScaleOut, status.Conditions)
	conditions.Replace(&status.Conditions, append(input.Conditions(d.Conditions), kept...), s.fq.Generation, s.now)
	s.fleet = s.fleetOf(&d.Fleet)
}

// clusterStatus returns what is stored of a member. What it uses is kept in its own notation.
func (s *scope) clusterStatus(m *member, before quotav1alpha1.ClusterStatus) quotav1alpha1.ClusterStatus {
	v := m.verdict
	c := quotav1alpha1.ClusterStatus{
		Name: quotav1alpha1.ClusterName(m.Name), UID: v.UID, Removal: v.Removal,
		Used: before.Used, Demand: before.Demand, Unscheduled: before.Unscheduled,
		State: v.State, Reason: v.Why.Reason, Message: conditions.Truncated(v.Why.Message, messageLimit),
		Since: before.Since,
	}
	c.Revision, c.Granted, c.Target = s.decision.Ledger.Stored(m.Name, s.fq.Spec.Hard)
	if v.Reported {
		c.Used, c.Demand, c.Unscheduled = m.share.Status.Used, m.share.Status.Demand, m.share.Status.Unscheduled
	}
	if c.State != before.State || c.Since == nil {
		c.Since = &metav1.Time{Time: s.now.Truncate(time.Second)}
	}
	return c
}

// totals writes the sums and the columns that kubectl prints.
func (s *scope) totals() {
	status, formats, t := &s.fq.Status, s.fq.Spec.Hard, &s.decision.Totals
	budget := s.decision.Ledger.Budget()
	pool.Report(&status.BudgetStatus, budget, *t, formats)
	if s.membership.Stands() {
		status.DemandByShape = pool.ShapesOf(status.Demand, s.shapes(), status.Hard)
		status.AlsoNeeded = pool.AlsoNeeded(s.decision.Needs, t.Used, t.Demand).ToList(formats)
	}
	status.Settled = fmt.Sprintf("%d/%d", t.Settled, t.Selected)
}

// shapes returns what members ask for by shape.
func (s *scope) shapes() []quotav1alpha1.DemandShape {
	var shapes []quotav1alpha1.DemandShape
	for _, m := range s.members {
		if m.verdict != nil && m.verdict.Reported {
			shapes = append(shapes, m.share.Status.DemandByShape...)
		}
	}
	return shapes
}

// fleetOf returns what shares say of the whole budget.
func (s *scope) fleetOf(fleet *shares.Fleet) quotav1alpha1.Fleet {
	if fleet.Budget == nil {
		return quotav1alpha1.Fleet{}
	}
	f := quotav1alpha1.Fleet{Budget: fleet.Budget.ToList(s.fq.Spec.Hard), Used: s.fq.Status.Used}
	for _, name := range fleet.Waiting {
		f.Waiting = append(f.Waiting, quotav1alpha1.ClusterName(name))
	}
	return f
}
