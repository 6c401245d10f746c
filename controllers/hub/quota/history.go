package quota

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// memory is what the hub manager remembers of one FederatedQuota. Rounds use it one after the other.
type memory struct {
	// told is what events have told.
	told told
	// stored is when the status was written last.
	stored time.Time
	// series are the names of the budget that have some.
	series []corev1.ResourceName
}

// shareKey names a share of which something is remembered from one round to the next.
type shareKey struct {
	quota   types.UID
	cluster string
}

// history is what the hub manager remembers of one share: for the status, to pace moves, and to look whether the
// namespace is missing still. It is no part of the protocol: a restarted hub manager goes on without it. Rounds use it
// one after the other, and one goroutine of each.
type history struct {
	// outcome says why the share could not be written last, or is empty.
	outcome round.Obstacle
	// unheard is since when the member is expected to say what it uses and does not, by resource name.
	unheard map[corev1.ResourceName]time.Time
	// moved is when the target changed last.
	moved time.Time
	// gave is when the target went down last, by resource name, unless it has gone up since.
	gave map[corev1.ResourceName]time.Time
	// told is when the share was written last.
	told time.Time
	// confirmed is when the entry was given a new revision last just to be confirmed.
	confirmed time.Time
	// stalled is when a write was not answered in time.
	stalled time.Time
	// decided is when the ledger decided on the cluster first since it was settled last, zero while it is settled.
	decided time.Time
	// observed is the last generation of the share that its agent had seen, idleSince when it was first found to be not
	// the present one.
	observed  int64
	idleSince time.Time
}

// unheardFor returns how long raises have waited for what the member uses, by resource name.
func (h *history) unheardFor(now time.Time) map[corev1.ResourceName]time.Duration {
	return ages(now, h.unheard)
}

// ages returns how long ago each was, nil if there are none: most shares of a large fleet have none.
func ages(now time.Time, times map[corev1.ResourceName]time.Time) map[corev1.ResourceName]time.Duration {
	if len(times) == 0 {
		return nil
	}
	passed := make(map[corev1.ResourceName]time.Duration, len(times))
	for name, at := range times {
		passed[name] = now.Sub(at)
	}
	return passed
}

// await notes which resources the member is expected to report.
func (h *history) await(now time.Time, unheard []corev1.ResourceName) {
	if len(unheard) == 0 {
		h.unheard = nil
		return
	}
	since := make(map[corev1.ResourceName]time.Time, len(unheard))
	for _, name := range unheard {
		since[name] = now
		if before, ok := h.unheard[name]; ok {
			since[name] = before
		}
	}
	h.unheard = since
}

// gaveOf returns how long ago the target went down last, by resource name, where it has not gone up since.
func (h *history) gaveOf(now time.Time) map[corev1.ResourceName]time.Duration {
	return ages(now, h.gave)
}

// move notes that the target has changed.
func (h *history) move(now time.Time, before, after amount.List) {
	h.moved = now
	for name, target := range after {
		switch {
		case target < before[name]:
			if h.gave == nil {
				h.gave = map[corev1.ResourceName]time.Time{}
			}
			h.gave[name] = now
		case target > before[name]:
			delete(h.gave, name)
		}
	}
}

// remaining returns how much of a pause is left that began at an instant.
func remaining(pause time.Duration, since, now time.Time) time.Duration {
	return max(0, pause-now.Sub(since))
}

// idleFor returns how long the agent has not acted although there was something to act on.
func (h *history) idleFor(now time.Time, share *quotav1alpha1.QuotaShare) time.Duration {
	if share == nil || share.Status.ObservedGeneration == share.Generation {
		h.idleSince = time.Time{}
		return 0
	}
	if observed := share.Status.ObservedGeneration; h.idleSince.IsZero() || observed != h.observed {
		h.observed, h.idleSince = observed, now
	}
	return now.Sub(h.idleSince)
}

// settle notes whether this round has decided on a cluster and whether it has settled, and returns how long it took if
// this round is the first to see it.
func (h *history) settle(now time.Time, decided, settled bool) (time.Duration, bool) {
	if decided && h.decided.IsZero() {
		h.decided = now
	}
	if !settled || h.decided.IsZero() {
		return 0, false
	}
	took := now.Sub(h.decided)
	h.decided = time.Time{}
	return took, true
}

// memoryOf returns the memory of a FederatedQuota.
func (r *Reconciler) memoryOf(quota types.UID) *memory {
	m, _ := r.memories.LoadOrStore(quota, &memory{})
	return m.(*memory)
}

// historyOf returns the history of a member's share.
func (r *Reconciler) historyOf(s *scope, m *member) *history {
	h, _ := r.histories.LoadOrStore(shareKey{s.fq.UID, m.Name}, &history{})
	return h.(*history)
}

// forget drops what is remembered of a FederatedQuota that goes.
func (r *Reconciler) forget(quota types.UID) {
	r.memories.Delete(quota)
	r.histories.Range(func(key, _ any) bool {
		if key := key.(shareKey); key.quota == quota {
			r.drop(key)
		}
		return true
	})
}

// dropGone drops what is remembered of the members that have left the ledger.
func (r *Reconciler) dropGone(s *scope) {
	for _, m := range s.members {
		if _, ok := s.decision.Ledger.Entry(m.Name); !ok {
			r.drop(shareKey{s.fq.UID, m.Name})
		}
	}
}

// drop drops what is remembered of a share that the ledger no longer knows, and the series of a cluster that none
// knows.
func (r *Reconciler) drop(share shareKey) {
	r.histories.Delete(share)
	known := false
	r.histories.Range(func(key, _ any) bool {
		known = key.(shareKey).cluster == share.cluster
		return !known
	})
	if !known {
		memberReachable.DeleteLabelValues(share.cluster)
	}
}

// recall fills in what the round needs to know of the past of a member.
func (r *Reconciler) recall(s *scope, m *member) {
	h := r.historyOf(s, m)
	m.Past = round.Past{
		Gave:         h.gaveOf(s.now),
		DampedFor:    remaining(input.Damping(&s.fq.Spec), h.moved, s.now),
		ToldFor:      remaining(pace.RetellInterval, h.told, s.now),
		ConfirmedFor: remaining(pace.ConfirmInterval, h.confirmed, s.now),
		StalledFor:   remaining(pace.StallInterval, h.stalled, s.now),
		IdleFor:      h.idleFor(s.now, m.share),
		UnheardFor:   h.unheardFor(s.now),
	}
}

// await remembers since when members are expected to say what they use.
func (r *Reconciler) await(s *scope) {
	for _, m := range s.members {
		if m.verdict != nil && m.verdict.Read {
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
			r.historyOf(s, m).move(s.now, v.From, v.To)
			ctrl.LoggerFrom(ctx).V(1).Info("Moved limits", "Cluster", m.Name,
				"from", v.From.ToList(s.fq.Spec.Hard), "to", v.To.ToList(s.fq.Spec.Hard), "reasons", v.Reasons)
		}
	}
}
