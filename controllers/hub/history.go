package hub

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// firstReportWait is how long raises of a resource wait for a member that has not said yet what it uses of it. Its agent may
// not be there, and a name that it does not count is never reported.
const firstReportWait = 5 * time.Second

// donorPatience is how long the agent of a donor may take to act before others are asked in its place.
const donorPatience = 3 * time.Second

// askInterval is the least time between two times that a member is asked anew for a limit that it confirmed and does not have.
// Something there may change each one.
const askInterval = 5 * time.Second

// retellInterval is the least time between two writes of a share that differ in the usage of the fleet alone.
const retellInterval = time.Second

// stallInterval is how long nothing is written to a member after a write that was not answered in time: a round waits for each.
// It is also how soon a write is tried again that failed otherwise, and was not refused.
const stallInterval = 5 * time.Second

// memory is what the hub manager remembers of one FederatedQuota. Rounds use it one after the other.
type memory struct {
	// newborn says whether there was no ledger, neither before this hub manager met the FederatedQuota nor since.
	newborn bool
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

// history is what the hub manager remembers of one share: for the status, to pace moves, and to look whether the namespace is
// missing still. It is no part of the protocol: a restarted hub manager goes on without it. Rounds use it one after the other, and
// one goroutine of each.
type history struct {
	// outcome says why the share could not be written last, or is empty.
	outcome obstacle
	// unheard is since when the member is expected to say what it uses and does not, by resource name.
	unheard map[corev1.ResourceName]time.Time
	// moved is when the target changed last.
	moved time.Time
	// gave is when the target went down last, by resource name.
	gave map[corev1.ResourceName]time.Time
	// told is when the share was written last.
	told time.Time
	// asked is when the member was asked anew last.
	asked time.Time
	// stalled is when a write was not answered in time.
	stalled time.Time
	// decided is when the ledger decided on the cluster first since it was settled last, zero while it is settled.
	decided time.Time
	// observed is the last generation of the share that its agent had seen, idleSince when it was first found to be not the
	// present one.
	observed  int64
	idleSince time.Time
}

// awaitedFor returns how long raises wait for what the member uses of the resources that it is expected to report.
func (h *history) awaitedFor(now time.Time, unheard []corev1.ResourceName) map[corev1.ResourceName]time.Duration {
	since, waits := make(map[corev1.ResourceName]time.Time, len(unheard)), make(map[corev1.ResourceName]time.Duration, len(unheard))
	for _, name := range unheard {
		since[name] = now
		if before, ok := h.unheard[name]; ok {
			since[name] = before
		}
		waits[name] = max(0, firstReportWait-now.Sub(since[name]))
	}
	h.unheard = since
	return waits
}

// dampedFor returns how long the target must not move for headroom.
func (h *history) dampedFor(now time.Time, damping time.Duration) time.Duration {
	return max(0, damping-now.Sub(h.moved))
}

// gaveOf returns how long ago the target went down last, by resource name.
func (h *history) gaveOf(now time.Time) map[corev1.ResourceName]time.Duration {
	gave := make(map[corev1.ResourceName]time.Duration, len(h.gave))
	for name, at := range h.gave {
		gave[name] = now.Sub(at)
	}
	return gave
}

// move notes that the target has changed.
func (h *history) move(now time.Time, before, after amount.List) {
	h.moved = now
	for name, target := range after {
		if target < before[name] {
			if h.gave == nil {
				h.gave = map[corev1.ResourceName]time.Time{}
			}
			h.gave[name] = now
		}
	}
}

// tell notes that the share was written.
func (h *history) tell(now time.Time) {
	h.told = now
}

// toldFor returns how long what the share was told of usage will do.
func (h *history) toldFor(now time.Time) time.Duration {
	return max(0, retellInterval-now.Sub(h.told))
}

// stall notes that a write was not answered in time.
func (h *history) stall(now time.Time) {
	h.stalled = now
}

// stalledFor returns how long nothing is to be written.
func (h *history) stalledFor(now time.Time) time.Duration {
	return max(0, stallInterval-now.Sub(h.stalled))
}

// idleFor returns how long the agent has not acted although there was something to act on.
func (h *history) idleFor(now time.Time, m *member) time.Duration {
	if !m.idle() {
		h.idleSince = time.Time{}
		return 0
	}
	if observed := m.share.Status.ObservedGeneration; h.idleSince.IsZero() || observed != h.observed {
		h.observed, h.idleSince = observed, now
	}
	return now.Sub(h.idleSince)
}

// ask notes that the member was asked anew.
func (h *history) ask(now time.Time) {
	h.asked = now
}

// askedFor returns how long the member is not to be asked anew.
func (h *history) askedFor(now time.Time) time.Duration {
	return max(0, askInterval-now.Sub(h.asked))
}

// settle notes whether this round has decided on a cluster and whether it has settled, and returns how long it took if this
// round is the first to see it.
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
func (r *QuotaReconciler) memoryOf(quota types.UID) *memory {
	m, _ := r.memories.LoadOrStore(quota, &memory{})
	return m.(*memory)
}

// historyOf returns the history of a member's share.
func (r *QuotaReconciler) historyOf(s *scope, m *member) *history {
	h, _ := r.histories.LoadOrStore(shareKey{s.fq.UID, m.name}, &history{})
	return h.(*history)
}

// forget drops what is remembered of a FederatedQuota that goes.
func (r *QuotaReconciler) forget(quota types.UID) {
	r.memories.Delete(quota)
	r.histories.Range(func(key, _ any) bool {
		if key := key.(shareKey); key.quota == quota {
			r.drop(key)
		}
		return true
	})
}

// dropGone drops what is remembered of the members that have left the ledger.
func (r *QuotaReconciler) dropGone(s *scope) {
	for _, m := range s.members {
		if _, ok := s.ledger.Entry(m.name); !ok {
			r.drop(shareKey{s.fq.UID, m.name})
		}
	}
}

// drop drops what is remembered of a share that the ledger no longer knows, and the series of a cluster that none knows.
func (r *QuotaReconciler) drop(share shareKey) {
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

// recall fills in what the round needs to know of the past.
func (r *QuotaReconciler) recall(s *scope) {
	damping := pace.DampingOf(s.holds())
	if seconds := s.fq.Spec.Rebalance.DampingSeconds; seconds != nil {
		damping = time.Duration(*seconds) * time.Second
	}
	for _, m := range s.members {
		h := r.historyOf(s, m)
		m.gave = h.gaveOf(s.now)
		m.dampedFor = h.dampedFor(s.now, damping)
		m.toldFor = h.toldFor(s.now)
		m.askedFor = h.askedFor(s.now)
		m.stalledFor = h.stalledFor(s.now)
		m.idleFor = h.idleFor(s.now, m)
		if m.read() {
			m.awaitedFor = h.awaitedFor(s.now, s.unheard(m))
		}
	}
}

// note remembers whom the round has asked anew, and which targets it has moved. The first share of a member is no move: it is zero,
// and what follows is not to wait. Nor is a share that is only written anew.
func (r *QuotaReconciler) note(ctx context.Context, s *scope) {
	for _, name := range s.ledger.Clusters() {
		known, m := s.known[name], s.byName[name]
		if m.askedAnew {
			r.historyOf(s, m).ask(s.now)
		}
		if e, _ := s.ledger.Entry(name); known.Revision > 0 && e.Revision > known.Revision && !e.Target.Equal(known.Target) {
			r.historyOf(s, m).move(s.now, known.Target, e.Target)
			ctrl.LoggerFrom(ctx).V(1).Info("Moved limits", "Cluster", name,
				"from", known.Target.ToList(like(s.fq)), "to", e.Target.ToList(like(s.fq)), "reasons", m.reasons)
		}
	}
}
