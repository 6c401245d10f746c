package hub

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// nextRound returns when to look again although nothing may happen.
func (s *scope) nextRound() time.Duration {
	looks := append(slices.Collect(maps.Values(s.awaited)), s.snapshotDue)
	if len(s.unseen) > 0 {
		looks = append(looks, firstLook)
	}
	if len(s.leftOut) > 0 || s.crowded {
		looks = append(looks, wait.Jitter(heldBackInterval, jitter))
	}
	for _, m := range s.members {
		looks = append(looks, s.looksAt(m)...)
	}
	next := wait.Jitter(roundInterval, jitter)
	for _, d := range looks {
		if d > 0 {
			next = min(next, d)
		}
	}
	return next
}

// looksAt returns when to look at a member again, those that are 0 for never.
func (s *scope) looksAt(m *member) []time.Duration {
	switch {
	case m.stalledFor > 0:
		return []time.Duration{m.stalledFor}
	case s.unfinished(m):
		return []time.Duration{time.Millisecond}
	}
	looks := []time.Duration{m.askedFor}
	if m.failed {
		looks = append(looks, stallInterval)
	}
	if m.blocked() {
		looks = append(looks, wait.Jitter(heldBackInterval, jitter))
	}
	if s.misinformed(m) {
		looks = append(looks, m.toldFor)
	}
	if !s.static() {
		looks = append(looks, m.dampedFor)
		for name := range m.gave {
			looks = append(looks, m.respiteFor(name))
		}
		if m.idle() {
			looks = append(looks, donorPatience-m.idleFor)
		}
	}
	return looks
}

// blocked says whether something keeps the member back whose end no watch tells.
func (m *member) blocked() bool {
	return m.outcome != (obstacle{}) || m.unreachable != "" && m.cluster != nil || m.idle()
}

// idle says whether the agent has not acted on the present share.
func (m *member) idle() bool {
	return m.share != nil && m.share.Status.ObservedGeneration != m.share.Generation
}

// unfinished says whether the next round can go on with a member at once: it can be adopted then, or the outcome of its
// delivery is not in the status yet.
func (s *scope) unfinished(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	return m.read() && (m.outcome != m.heldBack || ok && e.Revision == 0 && !s.early() && !m.cleared())
}
