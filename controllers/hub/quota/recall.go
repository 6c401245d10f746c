package quota

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/shares"
)

// historyOf returns the history of a member's share.
func (r *Reconciler) historyOf(s *scope, m *member) *history {
	return r.memories.of(s.fq.UID).histories.Of(m.Name)
}

// forget drops what is remembered of a FederatedQuota that goes.
func (r *Reconciler) forget(quota types.UID) {
	r.dropSeries(r.memories.forget(quota)...)
	r.Trees.Forget(quota)
}

// dropGone drops what is remembered of the members that have left the ledger.
func (r *Reconciler) dropGone(s *scope) {
	for _, m := range s.members {
		if !s.decision.Ledger.Has(m.Name) {
			r.memories.of(s.fq.UID).histories.Forget(m.Name)
			r.dropSeries(m.Name)
		}
	}
}

// dropSeries drops the series of those clusters of which nothing is remembered any more.
func (r *Reconciler) dropSeries(clusters ...string) {
	for _, cluster := range clusters {
		if !r.memories.know(cluster) {
			memberReachable.DeleteLabelValues(cluster)
		}
	}
}

// recall fills in what the round needs to know of the past of a member.
func (r *Reconciler) recall(s *scope, m *member) {
	h := r.historyOf(s, m)
	m.Past = shares.Past{
		Gave:         ages(s.now, h.gave),
		DampedFor:    remaining(input.Damping(&s.fq.Spec), h.moved, s.now),
		ToldFor:      remaining(pace.RetellInterval(len(s.members), r.memories.number()), h.told, s.now),
		ConfirmedFor: remaining(pace.ConfirmInterval, h.confirmed, s.now),
		StalledFor:   remaining(pace.StallInterval, h.stalled, s.now),
		IdleFor:      h.idleFor(s.now, m.share),
		UnheardFor:   ages(s.now, h.unheard),
		ToldMost:     h.most,
	}
	if share := m.Reading.Share; share != nil {
		m.Past.Placed = h.place(s.nodes[m.Name], shares.OnNodes(share.Report.Used, share.Unscheduled))
	}
}

// await remembers since when members are expected to say what they use.
func (r *Reconciler) await(s *scope) {
	for _, m := range s.members {
		if m.verdict != nil {
			r.historyOf(s, m).await(s.now, m.verdict.Unheard)
		}
	}
}

// note remembers which members the round has asked to confirm, and which targets it has moved.
func (r *Reconciler) note(ctx context.Context, s *scope) {
	for _, m := range s.members {
		v := m.verdict
		if v == nil {
			continue
		}
		if v.Confirms {
			r.historyOf(s, m).confirmed = s.now
		}
		if v.To != nil {
			r.historyOf(s, m).move(s.now, v.From, v.To, v.Gave)
			ctrl.LoggerFrom(ctx).V(1).Info("Moved limits", "Cluster", m.Name,
				"from", v.From.ToList(s.fq.Spec.Hard), "to", v.To.ToList(s.fq.Spec.Hard), "reasons", v.Reasons)
		}
	}
}
