package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/internal/record"
)

// TestRoundsAreRecorded records what rounds see: what each member has, and its part by weight, min and max, which is nothing for one
// that leaves; moves, as events tell them; and nothing more once the budget is gone.
func TestRoundsAreRecorded(t *testing.T) {
	w := newWorld(t, "east", "west")
	clock := clocktesting.NewFakeClock(time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC))
	w.hub.Records = &recorder.Recorder{Client: servers[hubName], Live: servers[hubName], Clock: clock, Interval: time.Hour, Months: 1}
	stored := func() *record.Month {
		t.Helper()
		w.hub.Records.Store(t.Context(), true)
		kept := &quotav1alpha1.QuotaRecord{}
		w.must(servers[hubName].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: quotaName + "-2026-11"}, kept))
		m, err := record.Decode(kept.Data)
		w.must(err)
		return m
	}
	w.create(quotaName, `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 0}
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, weight: 3, max: {pods: "12"}}]}
admission: {mode: "Off"}`)
	w.settle()
	w.agents["east"].asks(list("pods", "15"))
	w.agents["east"].uses(list("pods", "4"))
	w.settle()
	w.wantLedger("east 19/19 Settled", "west 1/1 Settled")
	clock.Step(time.Hour)
	level, want := stored().Level, []string{"east {8 19 4 15}", "west {12 1 0 0}"}
	var got []string
	for _, c := range level.Clusters {
		got = append(got, fmt.Sprint(c.Name, " ", c.Amounts[0]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if total := level.Total[0]; total != (record.Amounts{Budget: 20, Granted: 20, Used: 4, Demand: 15}) {
		t.Errorf("in all %v", total)
	}
	m := stored()
	if moves := m.Moves.List; len(moves) == 0 || m.Audit.Generation != w.quota().Generation {
		t.Errorf("moves %v, generation %d", moves, m.Audit.Generation)
	}
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	w.agents["east"].uses(list("pods", "0"))
	clock.Step(time.Hour)
	w.settle()
	if m := stored(); m.Level != nil {
		t.Errorf("of a budget that is gone there is known %v", m.Level)
	}
}
