package quota

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// recorder has the hub manager write its events where next returns those that have come.
func (w *world) recorder() (next func() []string) {
	recorder := events.NewFakeRecorder(1000)
	w.hub.Recorder = recorder
	return func() []string {
		var notes []string
		for len(recorder.Events) > 0 {
			notes = append(notes, <-recorder.Events)
		}
		return notes
	}
}

// TestEventsOfANewQuota tells of a new FederatedQuota that it is enforced, and how it is split: nothing is wrong with
// it, although its Clusters are marked by another one.
func TestEventsOfANewQuota(t *testing.T) {
	w := newWorld(t, "east", "west")
	for _, name := range []string{"east", "west"} {
		cluster := w.cluster(name)
		cluster.Annotations = map[string]string{quotav1alpha1.MemberAnnotation: "7"}
		w.must(servers[hubName].Update(t.Context(), cluster))
	}
	next := w.recorder()
	w.create(quotaName, weighted2)
	var notes []string
	for range 6 {
		w.round()
		w.act()
		w.clock.SetTime(w.clock.Now().Add(100 * time.Millisecond))
		notes = append(notes, next()...)
		for _, c := range w.quota().Status.Conditions {
			if c.Type != "Ready" && c.Type != "Reconciling" {
				t.Errorf("%s is true: %s", c.Type, c.Message)
			}
		}
	}
	want := []string{
		"Normal Enforced Every cluster enforces a share of this spec",
		"Normal LimitsMoved pods: east 0 → 10 (Weight), west 0 → 10 (Weight)",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestAMoveIsOneEvent moves limits after demand: Ready stays true meanwhile, and one event tells of all of it.
func TestAMoveIsOneEvent(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.settle()
	next := w.recorder()
	w.agents["east"].asks(list("pods", "15"))
	w.act()
	moving := false
	for range 8 {
		w.round()
		if ready := w.quota().Status; !apimeta.IsStatusConditionTrue(ready.Conditions, "Ready") {
			t.Errorf("not ready: %v", conditionsOf(w.quota()))
		}
		moving = moving || !strings.HasPrefix(w.quota().Status.Settled, "2/")
		w.act()
		w.clock.SetTime(w.clock.Now().Add(100 * time.Millisecond))
	}
	if !moving {
		t.Error("no limit has moved")
	}
	want := regexp.MustCompile(`^Normal LimitsMoved pods: east 10 → 1[78] \(Weight\), west 10 → [23] \(Surplus\)$`) // UIDs decide of the rest
	if notes := next(); len(notes) != 1 || !want.MatchString(notes[0]) {
		t.Errorf("events: %q", notes)
	}
}

// TestWaitingIsToldAfterAWhile has a cluster be slow to enforce its first share.
func TestWaitingIsToldAfterAWhile(t *testing.T) {
	w := newWorld(t, "east")
	next := w.recorder()
	w.create(quotaName, weighted2)
	w.agents["east"].down = true
	w.round()
	w.round()
	if notes := next(); len(notes) > 0 {
		t.Errorf("told at once: %q", notes)
	}
	w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
	w.round()
	w.round()
	want := []string{"Normal Settling Waiting for clusters: east (Settling)"}
	if diff := cmp.Diff(want, next()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
