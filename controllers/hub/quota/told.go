package quota

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
)

// mostReasons is of how many clusters the reasons are remembered: an event names a few.
const mostReasons = 100

// told is what events have told of a FederatedQuota: the reason of Ready, and the limits of clusters. A hub manager
// that was started again takes what is stored for told.
type told struct {
	begun bool
	ready string
	// before are the limits, as they were told, of the clusters whose limits have moved since, and why is for what reasons
	// they did. since is when the limits began to be others than were told, zero while they are the same.
	before map[string]amount.List
	why    map[string]map[corev1.ResourceName]allocate.Reason
	since  time.Time
}

// begin takes what is stored for told.
func (t *told) begin(fq *quotav1alpha1.FederatedQuota) {
	if t.begun {
		return
	}
	t.begun = true
	if ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady); ready != nil {
		t.ready = ready.Reason
	}
}

// rest takes the present limits for told.
func (t *told) rest() { t.before, t.why, t.since = nil, nil, time.Time{} }

// note remembers which limits a round has moved, and for which reasons.
func (t *told) note(m *member) {
	v := m.verdict
	if !v.Decided {
		return
	}
	if _, moved := t.before[v.Name]; !moved {
		if t.before == nil {
			t.before = map[string]amount.List{}
		}
		t.before[v.Name] = m.storedTarget()
	}
	if len(v.Reasons) == 0 {
		return
	}
	if t.why == nil {
		t.why = map[string]map[corev1.ResourceName]allocate.Reason{}
	}
	if t.why[v.Name] == nil {
		if len(t.why) == mostReasons {
			return
		}
		t.why[v.Name] = map[corev1.ResourceName]allocate.Reason{}
	}
	maps.Copy(t.why[v.Name], v.Reasons)
}

// storedTarget returns what the limits of a member were to become before the round.
func (m *member) storedTarget() amount.List {
	if m.Entry == nil {
		return nil
	}
	return m.Entry.Target
}
