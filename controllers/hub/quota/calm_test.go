package quota

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/pace"
)

// TestNothingIsWrittenWhileNothingChanges goes through rounds in all kinds of states: after the first one, none writes.
func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	tests := map[string]struct {
		spec string
		set  func(w *world)
		want string
	}{
		"settled":  {spec: weighted, want: "Ready Enforced"},
		"ignored":  {spec: weighted, set: func(w *world) { w.agents["east"].down = true }, want: "!Ready Degraded"},
		"draining": {spec: weighted2, set: func(w *world) { w.agents["east"].uses(list("pods", "40")) }, want: "!Ready Degraded"},
		"invalid":  {spec: `{hard: {count/typo: "1"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`, want: "!Ready InvalidSpec"},
		"unknown":  {spec: `{hard: {pods: "1"}, placement: {clusters: [east, nowhere]}, rebalance: {mode: Static}}`, want: "!Ready Degraded"},
		"removing": {spec: weighted, set: func(w *world) {
			w.round()
			w.agents["east"].down = true
			w.must(servers[hubName].Delete(w.t.Context(), w.quota()))
		}, want: "!Ready Removing"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, tc.spec)
			if tc.set != nil {
				tc.set(w)
			}
			w.settle()
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.settle()
			if got := w.conditions()[0]; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			versions := w.versions()
			for range 3 {
				if result := w.round(); result.RequeueAfter > 0 && result.RequeueAfter < pace.RetryInterval/2 {
					t.Errorf("looks again after %s", result.RequeueAfter)
				}
				w.clock.SetTime(w.clock.Now().Add(time.Hour))
				w.restart()
			}
			if diff := cmp.Diff(versions, w.versions()); diff != "" {
				t.Errorf("written:\n%s", diff)
			}
		})
	}
}

// TestConstantDemand has clusters ask for always the same, less than the budget and more: once their limits are where
// they belong, and what is damped has come to rest, no limit is written for an hour.
func TestConstantDemand(t *testing.T) {
	for name, wants := range map[string][2]int64{"idle": {}, "fits": {18, 6}, "does not fit": {25, 12}, "one asks for all": {100, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, `{hard: {pods: "30"}, placement: {clusterSelector: {}}}`)
			w.agents["east"].wants, w.agents["west"].wants = wants[0], wants[1]
			pass := func(step time.Duration, steps int) {
				for range steps {
					w.clock.SetTime(w.clock.Now().Add(step))
					w.settle()
				}
			}
			pass(10*time.Second, 20)
			ledger := w.ledger("pods")
			if used := w.quota().Status.Used["pods"]; used.Value() != min(30, wants[0]+wants[1]) {
				t.Errorf("%s of 30 used: %v", used.String(), ledger)
			}
			pass(time.Second, 60)
			pass(time.Minute, 60)
			if diff := cmp.Diff(ledger, w.ledger("pods")); diff != "" {
				t.Errorf("limits moved (-before +after):\n%s", diff)
			}
			for _, member := range []string{"east", "west"} {
				if revision := w.share(member).Spec.Revision; revision > 12 {
					t.Errorf("%s is at revision %d", member, revision)
				}
			}
		})
	}
}

func TestAgentThatDoesNotAct(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.agents["east"].down = true
	for range 3 {
		w.round()
		w.act()
	}
	w.wantLedger("east 0/0 Settling", "west 0/0 Settled")
	w.clock.SetTime(w.clock.Now().Add(pace.AgentPatience + time.Second))
	if result := w.round(); result.RequeueAfter > pace.RetryInterval*12/10 {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.act()
	w.round()
	w.wantLedger("east 0/0 NotReady", "west 12/12 Settled")
	if got, want := w.message("MemberNotReady"), "east: its agent does not act on the share: see whether fedquota-agent runs there"; got != want {
		t.Errorf("got %q", got)
	}
	w.agents["east"].down = false
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

func TestUsageIsStoredCalmly(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	east := w.agents["east"]
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	east.uses(list("pods", "1"))
	w.act()
	w.round()
	w.wantUsed(1)

	east.uses(list("pods", "2"))
	w.act()
	if result := w.round(); result.RequeueAfter != pace.SnapshotInterval(1, 1) {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.wantUsed(1)
	w.clock.SetTime(w.clock.Now().Add(pace.SnapshotInterval(1, 1) - time.Millisecond))
	w.round()
	w.wantUsed(1)
	w.clock.SetTime(w.clock.Now().Add(time.Millisecond))
	w.round()
	w.wantUsed(2)

	// What is more than usage does not wait.
	east.uses(list("pods", "3"))
	w.act()
	w.edit(weighted2)
	w.round()
	w.wantUsed(3)

	// A hub manager that starts takes it that the one before it has just written.
	w.settle()
	w.restart()
	east.uses(list("pods", "4"))
	w.act()
	w.round()
	w.wantUsed(3)
	w.clock.SetTime(w.clock.Now().Add(pace.SnapshotInterval(1, 1)))
	w.round()
	w.wantUsed(4)
}

func (w *world) wantUsed(want int64) {
	w.t.Helper()
	if used := w.quota().Status.Used["pods"]; used.Value() != want {
		w.t.Errorf("used is %s, want %d", used.String(), want)
	}
}
