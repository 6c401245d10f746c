package quota

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// turns lets hub manager and agents act some times while the clock stands still.
func (w *world) turns(count int) {
	w.t.Helper()
	for range count {
		w.round()
		w.act()
	}
}

// TestHeadroomIsDamped moves a limit for headroom once in a while only, and for need at once.
func TestHeadroomIsDamped(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 50, dampingSeconds: 7}
admission: {mode: "Off"}`)
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
	uses := func(pods string, after time.Duration) {
		w.clock.SetTime(w.clock.Now().Add(after))
		w.agents["east"].uses(list("pods", pods))
		w.act()
		w.turns(4)
	}
	uses("8", 0)
	w.wantLedger("east 14/14 Settled", "west 6/6 Settled")
	uses("12", 7*time.Second-time.Millisecond)
	w.wantLedger("east 14/14 Settled", "west 6/6 Settled")
	if next := w.round().RequeueAfter; next != time.Millisecond {
		t.Errorf("looks again after %s, want when the damping ends", next)
	}
	uses("12", time.Millisecond)
	w.wantLedger("east 18/18 Settled", "west 2/2 Settled")

	w.agents["east"].uses(list("pods", "14"))
	w.agents["west"].asks(list("pods", "5"))
	w.act()
	w.turns(4)
	w.wantLedger("east 15/15 Settled", "west 5/5 Settled")
}

// TestRefusedTeamsAreTold writes into the share of who asks in vain how the fleet stands, once, and into no other.
func TestRefusedTeamsAreTold(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.agents["west"].uses(list("pods", "20"))
	w.settle()
	w.agents["east"].asks(list("pods", "5"))
	w.settle()
	want := quotav1alpha1.Fleet{Budget: list("pods", "20"), Used: list("pods", "20"), Waiting: []quotav1alpha1.ClusterName{"east"}}
	if diff := cmp.Diff(want, w.share("east").Spec.Fleet, quantities); diff != "" {
		t.Errorf("east is told (-want +got):\n%s", diff)
	}
	if waiting := w.share("west").Spec.Fleet.Waiting; len(waiting) > 0 {
		t.Errorf("west, which asks for nothing, is told that %v wait", waiting)
	}
	w.agents["east"].asks(nil)
	w.settle()
	versions := w.versions()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.settle()
	if diff := cmp.Diff(versions, w.versions()); diff != "" {
		t.Errorf("written although nobody asks:\n%s", diff)
	}
}

// TestAllAreToldOfTheBudget tells a cluster that asks for nothing, and whose limit stays, of a budget that was changed:
// it does not ask for what is more than all of it.
func TestAllAreToldOfTheBudget(t *testing.T) {
	w := newWorld(t, "east", "west")
	capped := following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, max: {pods: "2"}}]}`
	w.create(quotaName, capped)
	w.settle()
	before := w.share("east").Spec
	w.edit(strings.Replace(capped, `pods: "20"`, `pods: "30"`, 1))
	w.settle()
	after := w.share("east").Spec
	if after.Revision != before.Revision {
		t.Errorf("the limit of east moved from %v to %v", before.Hard, after.Hard)
	}
	if diff := cmp.Diff(list("pods", "30"), corev1.ResourceList(after.Fleet.Budget), quantities); diff != "" {
		t.Errorf("east is told (-want +got):\n%s", diff)
	}
}

// TestNotationChanges writes the budget in other words, over a cluster whose limit stays: API servers take no other
// limit at the same revision, however it is written.
func TestNotationChanges(t *testing.T) {
	w := newWorld(t, "east", "west")
	spec := `
hard: {requests.memory: 20Gi}
placement: {clusterSelector: {}}
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, max: {requests.memory: 2Gi}}]}
rebalance: {headroomPercent: 0}
admission: {mode: "Off"}`
	w.create(quotaName, spec)
	w.settle()
	revision := w.share("east").Spec.Revision
	w.edit(strings.Replace(spec, "20Gi", "30G", 1))
	w.settle()
	if conditions := w.conditions(); !slices.Equal(conditions, []string{"Ready Enforced"}) {
		t.Errorf("%v", conditions)
	}
	after := w.share("east").Spec
	if after.Revision != revision {
		t.Errorf("the limit of east moved to %v", after.Hard)
	}
	if diff := cmp.Diff(list("requests.memory", "30G"), corev1.ResourceList(after.Fleet.Budget), quantities); diff != "" {
		t.Errorf("east is told (-want +got):\n%s", diff)
	}
}

// TestOthersWhoWaitAreToldCalmly has a cluster ask and stop asking, while another one asks in vain: that one is not
// told each time.
func TestOthersWhoWaitAreToldCalmly(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, following)
	w.agents["west"].uses(list("pods", "20"))
	w.settle()
	w.agents["east"].asks(list("pods", "25"))
	w.settle()
	w.written()
	for i := range 10 {
		w.agents["north"].asks(list("pods", []string{"25", "0"}[i%2]))
		w.act()
		w.clock.SetTime(w.clock.Now().Add(pace.RetellInterval(1, 1) / 5))
		w.round()
	}
	told := 0
	for _, write := range w.written() {
		if strings.HasPrefix(write, "east: ") {
			told++
		}
	}
	if told == 0 || told > 3 {
		t.Errorf("east was told %d times in %s", told, 2*pace.RetellInterval(1, 1))
	}
}

// TestRefusedTeamsAreToldOfUsage writes what the fleet uses anew for who asks in vain, and not more often than it must.
func TestRefusedTeamsAreToldOfUsage(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.agents["west"].uses(list("pods", "20"))
	w.settle()
	w.agents["east"].asks(list("pods", "25"))
	w.settle()
	told := func() string {
		used := w.share("east").Spec.Fleet.Used["pods"]
		return used.String()
	}
	if !w.hub.memories.waiting(w.quota().UID) {
		t.Error("nobody waits, and usage alone is put off")
	}
	w.agents["west"].uses(list("pods", "16"))
	w.act()
	w.turns(4)
	before := told()
	w.agents["east"].uses(list("pods", "1"))
	w.act()
	if result := w.round(); told() != before || result.RequeueAfter == 0 || result.RequeueAfter > pace.RetellInterval(1, 1) {
		t.Errorf("told of %s used after %s, and looks again after %s", told(), before, result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(pace.RetellInterval(1, 1)))
	w.round()
	if told() != "17" {
		t.Errorf("told of %s used, want 17", told())
	}
}

// TestQuestionsAreAnswered answers an agent that asks whether the hub is there, once, and not before the hub could
// decide.
func TestQuestionsAreAnswered(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, holding)
	w.settle()
	w.agents["east"].asked = 3
	w.agents["east"].asks(list("pods", "50"))
	w.act()
	w.before = func(write string) error {
		if strings.HasPrefix(write, "hub: store") {
			return errors.New("no")
		}
		return nil
	}
	if _, err := w.reconcile(quotaName); err == nil {
		t.Fatal("the ledger was stored")
	}
	if got := w.share("east").Spec.Pong; got != 0 {
		t.Errorf("answered %d although nothing could be decided", got)
	}
	w.before = nil
	w.settle()
	for member, want := range map[string]int64{"east": 3, "west": 0} {
		if got := w.share(member).Spec.Pong; got != want {
			t.Errorf("%s is answered %d, want %d", member, got, want)
		}
	}
	revision := w.share("east").Spec.Revision
	w.agents["east"].asked = 4
	w.act()
	w.written()
	w.turns(3)
	w.wantWritten("east: patch QuotaShare compute")
	if share := w.share("east"); share.Spec.Pong != 4 || share.Spec.Revision != revision {
		t.Errorf("answered %d at revision %d, want 4 at revision %d", share.Spec.Pong, share.Spec.Revision, revision)
	}
}
