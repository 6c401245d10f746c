package quota

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/shares"
)

// memories are what the hub manager remembers of each FederatedQuota that it acts on. Its zero value is ready to use.
type memories struct {
	mutex   sync.Mutex
	byQuota map[types.UID]*memory
}

// memory is what the hub manager remembers of one FederatedQuota. Rounds use it one after the other.
type memory struct {
	histories members.Memory[history]

	// told is what events have told.
	told told
	// waiting says whether the last round found clusters that ask for more than they have.
	waiting atomic.Bool
	// stored is when the status was written last, or when it was first found to differ: who wrote it before may just have.
	stored time.Time
}

// history is what the hub manager remembers of one share: for the status, to pace moves, and to look whether the
// namespace is missing still. It is no part of the protocol: a restarted hub manager goes on without it. Rounds use it
// one after the other, and one goroutine of each.
type history struct {
	// outcome says why the share could not be written last, or is empty.
	outcome shares.Obstacle
	// unheard is since when the member is expected to say what it uses and does not, by resource name.
	unheard map[corev1.ResourceName]time.Time
	// moved is when the target changed last.
	moved time.Time
	// gave is when the target went down last for what others need, by resource name, unless it has gone up since.
	gave map[corev1.ResourceName]time.Time
	// told is when the share was written last.
	told time.Time
	// confirmed is when the entry was given a new revision last just to be confirmed.
	confirmed time.Time
	// stalled is when a write was not answered in time.
	stalled time.Time
	// decided is when the ledger decided on the cluster first since it was settled last, zero while it is settled.
	decided time.Time
	// nodes is the report of what the nodes can run that was seen last, by its UID and time, and placed what pods on nodes
	// used when it came. most is what the share was told last that nodes can come to have.
	nodes        string
	placed, most amount.List
	// observed is the last generation of the share that its agent had seen, idleSince when it was first found to be not
	// the present one.
	observed  int64
	idleSince time.Time
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

// move notes that the target has changed, and of which names the member gave room that others need. Who had nothing was
// given what it uses first, and may have headroom at once.
func (h *history) move(now time.Time, before, after amount.List, gave []corev1.ResourceName) {
	if !before.IsZero() {
		h.moved = now
	}
	for name, target := range after {
		switch {
		case slices.Contains(gave, name):
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

// place returns what pods on nodes used when the last report of what the nodes can run came. What they use more since
// then is not in it. The copy on the hub changes with what may still come, too, which says nothing of these.
func (h *history) place(report *quotav1alpha1.ClusterCapacity, used amount.List) amount.List {
	if report == nil || report.Growth == nil {
		h.nodes, h.placed = "", nil
		return nil
	}
	if version := string(report.UID) + ptr.Deref(report.ReportTime, metav1.Time{}).UTC().String(); version != h.nodes {
		h.nodes, h.placed = version, used
	}
	return h.placed
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

// of returns the memory of a FederatedQuota.
func (m *memories) of(quota types.UID) *memory {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.byQuota == nil {
		m.byQuota = map[types.UID]*memory{}
	}
	if m.byQuota[quota] == nil {
		m.byQuota[quota] = &memory{}
	}
	return m.byQuota[quota]
}

// number returns how many FederatedQuotas the hub manager acts on.
func (m *memories) number() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.byQuota)
}

// waiting says whether the last round over a FederatedQuota found clusters that ask for more than they have.
func (m *memories) waiting(quota types.UID) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	known := m.byQuota[quota]
	return known != nil && known.waiting.Load()
}

// forget drops what is remembered of a FederatedQuota, and returns the clusters of its shares.
func (m *memories) forget(quota types.UID) []string {
	known := m.of(quota)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.byQuota, quota)
	var clusters []string
	known.histories.Each(func(cluster string, _ *history) { clusters = append(clusters, cluster) })
	return clusters
}

// know says whether anything is remembered of a share in a cluster.
func (m *memories) know(cluster string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, memory := range m.byQuota {
		if memory.histories.Has(cluster) {
			return true
		}
	}
	return false
}
