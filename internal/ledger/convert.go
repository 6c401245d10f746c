package ledger

import (
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// EntryOf returns the entry that is stored of a cluster.
func EntryOf(c *quotav1alpha1.ClusterStatus) Entry {
	granted := amount.Saturate(c.Granted, amount.Up)
	target := granted
	if c.Target != nil {
		target = amount.Saturate(c.Target, amount.Up)
	}
	return Entry{Revision: c.Revision, Granted: granted, Target: target}
}

// Store writes the entry of a cluster into its status, as quantities in the formats of like.
func (l *Ledger) Store(cluster string, into *quotav1alpha1.ClusterStatus, like corev1.ResourceList) {
	e := l.entries[cluster]
	into.Revision = e.Revision
	into.Granted = e.Granted.ToList(like)
	into.Target = nil
	if !e.Granted.Equal(e.Target) {
		into.Target = e.Target.ToList(like)
	}
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

// ReportOf returns the report in the status of a share.
func ReportOf(status quotav1alpha1.QuotaShareStatus) Report {
	return Report{
		Revision: status.Revision,
		Hard:     amount.Saturate(status.Hard, amount.Up),
		Used:     amount.Saturate(status.Used, amount.Up),
	}
}
