package ledger

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// EntryOf returns an entry that was stored. Without a target, that is what is granted.
func EntryOf(revision int64, granted, target corev1.ResourceList) Entry {
	e := Entry{Revision: revision, Granted: amount.Saturate(granted, amount.Up)}
	e.Target = e.Granted
	if target != nil {
		e.Target = amount.Saturate(target, amount.Up)
	}
	return e
}

// Stored returns what is to be stored of the entry of a cluster, as quantities in the formats of like. There is no target
// if that is what is granted.
func (l *Ledger) Stored(cluster string, like corev1.ResourceList) (revision int64, granted, target corev1.ResourceList) {
	e := l.entries[cluster]
	if !e.Granted.Equal(e.Target) {
		target = e.Target.ToList(like)
	}
	return e.Revision, e.Granted.ToList(like), target
}

// Share returns what the share of a cluster says: the entry's revision, and its target as the limit.
func (l *Ledger) Share(cluster string, like corev1.ResourceList) (revision int64, hard corev1.ResourceList) {
	e := l.entries[cluster]
	return e.Revision, e.Target.ToList(like)
}

// FirstShare returns what the share of a cluster says when it is created: see Entry.First.
func (l *Ledger) FirstShare(cluster string, like corev1.ResourceList) (revision int64, hard corev1.ResourceList) {
	first := l.entries[cluster].First()
	return first.Revision, first.Target.ToList(like)
}

// ReportOf returns a report out of quantities.
func ReportOf(revision int64, hard, used corev1.ResourceList) Report {
	return Report{Revision: revision, Hard: amount.Saturate(hard, amount.Up), Used: amount.Saturate(used, amount.Up)}
}
